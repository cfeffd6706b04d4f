"""The job: its states and every arrow between them.

| from → to                    | function                 | by           | also writes                               |
| ---------------------------- | ------------------------ | ------------ | ----------------------------------------- |
| – → queued                   | submit.ticket            | intake       | ticket, outbox (one statement)            |
| queued → running             | claim.claim              | worker       | attempts + 1, run + 1, lease, history     |
| queued → cancelled           | people.cancel            | a caller     |                                           |
| queued → failed              | outbox.undeliverable     | relay        |                                           |
| running → succeeded          | leave.succeed            | worker       | result, what the kind publishes, history  |
| running → failed             | leave.fail               | worker       | history                                   |
| running → queued             | leave.retry_later        | worker       | history, outbox                           |
| running → queued, attempt kept | leave.give_back          | worker       | attempts − 1, history, outbox             |
| running → dead_letter        | leave.dead_letter        | worker       | history, outbox (poison)                  |
| running → cancelled          | each of the last three   | worker       | instead, when `cancel_requested` is set   |
| dead_letter, failed → queued | people.retry             | a person     | attempts, running time back to 0; outbox  |
| dead_letter → queued         | people.retry_by_message  | an operator  | the same                                  |

Each arrow is one statement, guarded by the from-state and, out of running, by the claim: `run`, a number that only
rises. An arrow that changes no row returns None: the job is somebody else's by now. `delivery` rises with every arrow
into queued and into dead_letter, so that of all messages ever sent for a job only the newest counts.
"""
