-- no transaction
DO $$ BEGIN IF (SELECT string_to_array(extversion, '.')::int[] < '{0,8}' FROM pg_extension WHERE extname = 'vector') THEN RAISE EXCEPTION 'pgvector is older than 0.8, which searches within a filter: ALTER EXTENSION vector UPDATE (after installing it)'; END IF; END $$;

-- Which tickets can be compared at all; a workspace of a few thousand is searched through this one, exactly.
DROP INDEX CONCURRENTLY IF EXISTS tickets_embedded;
CREATE INDEX CONCURRENTLY tickets_embedded ON tickets (workspace_id, embedding_version) WHERE embedding IS NOT NULL;

-- Half the digits take half the room and find the same tickets; how similar they are is said by the whole vectors.
DROP INDEX CONCURRENTLY IF EXISTS tickets_by_likeness;
CREATE INDEX CONCURRENTLY tickets_by_likeness ON tickets USING hnsw ((embedding::halfvec(384)) halfvec_cosine_ops);
