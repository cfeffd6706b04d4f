// Everything that Larkfield needs in Azure, in one resource group that this template makes itself: `azd up` starts
// from nothing, and `azd down` leaves nothing behind. Read from the top: what can be chosen, then what is made.
targetScope = 'subscription'

// ---- Where and how ------------------------------------------------------------------------------------------------

@description('Name of this environment, part of resource names (azd: AZURE_ENV_NAME).')
@minLength(1)
@maxLength(40)
param environmentName string

@description('Azure region of everything; it has to offer Flex Consumption.')
@metadata({ azd: { type: 'location' } })
param location string

@description('public: data services guarded by Entra tokens alone. private: reached through a virtual network only.')
@allowed(['public', 'private'])
param networkMode string = 'public'

@description('Spread plan and storage over the zones of the region. Keeps two paid instances ready per ready group.')
param zoneRedundant bool = false

@description('Tags for every resource, beside azd-env-name.')
param tags object = {}

// ---- Who ----------------------------------------------------------------------------------------------------------

@description('Mail address of the people who look after the system: every alert, and the budget.')
param alertEmail string

@description('Country code and number, as in "49 15112345678", for a text message on alerts that cannot wait.')
param alertPhone string = ''

@description('Object id of the Entra group that may look into the queues and move messages; empty: nobody.')
param operatorGroupId string = ''

@description('Object id of the database administrator, best a group; empty: whoever deploys.')
param databaseAdminId string = ''

@description('Its name in Entra, which becomes the name of its role in Postgres; empty: of whoever deploys.')
param databaseAdminName string = ''

@description('Its kind; empty: of whoever deploys.')
@allowed(['', 'User', 'Group', 'ServicePrincipal'])
param databaseAdminType string = ''

// ---- The function app ---------------------------------------------------------------------------------------------

@description('Python of the function app.')
@allowed(['3.11', '3.12', '3.13'])
param pythonVersion string = '3.12'

@description('Memory of an instance in MB. 512 costs a quarter, starts more slowly, and is not offered everywhere.')
@allowed([512, 2048, 4096])
param instanceMemoryMB int = 2048

@description('Most instances of each scale group (HTTP, and every queue for itself). The database must bear them.')
@minValue(1)
@maxValue(1000)
param maximumInstanceCount int = 2

@description('Instances for HTTP that are always ready, and always paid; 0: the first request starts one.')
@minValue(0)
param readyHttpInstances int = 0

@description('Requests that one instance serves at a time. Waiting callers (Prefer: wait) count too.')
@minValue(1)
@maxValue(1000)
param httpConcurrency int = 32

@description('NCRONTAB: when the relay looks by itself. Requests and workers wake it too, so that tickets do not wait.')
param relaySchedule string = '*/15 * * * * *'

@description('NCRONTAB: when the sweep looks for lost jobs and reports the queue to the alerts.')
param sweepSchedule string = '0 * * * * *'

@description('Further app settings by name (QUEUE_MAX, RATE_LIMIT_PER_MINUTE …). Never a secret.')
param furtherSettings object = {}

// ---- The AI provider ----------------------------------------------------------------------------------------------

@description('Address of an OpenAI-compatible API, up to and with /v1.')
param providerUrl string

@description('Its key. Kept in Key Vault; empty: the provider wants none.')
@secure()
param providerApiKey string = ''

@description('Where the key goes: authorization (Bearer) or api-key (Azure OpenAI).')
@allowed(['authorization', 'api-key'])
param providerKeyHeader string = 'authorization'

@description('Name of the chat model, or of its deployment.')
param chatModel string = 'gpt-4o-mini'

@description('Name of the embedding model, or of its deployment.')
param embeddingModel string = 'text-embedding-3-small'

@description('The quota: chat requests a minute; 0: none.')
@minValue(0)
param chatRequestsPerMinute int = 100

@description('The quota: chat tokens a minute; 0: none.')
@minValue(0)
param chatTokensPerMinute int = 100000

@description('Secret that webhooks are signed with, whsec_ and base64. Kept in Key Vault; empty: no webhooks.')
@secure()
param webhookSecret string = ''

@description('The secret before that, while receivers change over.')
@secure()
param webhookSecretPrevious string = ''

// ---- The database -------------------------------------------------------------------------------------------------

@description('Size of the database server; it decides how many connections there are.')
@allowed(['Standard_B1ms', 'Standard_B2s', 'Standard_B2ms', 'Standard_D2ds_v5', 'Standard_D4ds_v5'])
param databaseSku string = 'Standard_B1ms'

@description('Name of the server, to go on with one that was restored from a backup; empty: this environment\'s own.')
param databaseServerName string = ''

@description('Major version of Postgres.')
@allowed(['16', '17', '18'])
param postgresVersion string = '17'

@description('Disk in GiB; it grows by itself and never shrinks.')
@allowed([32, 64, 128, 256, 512, 1024])
param databaseStorageGB int = 32

@description('How many days back the database can be restored to any second.')
@minValue(7)
@maxValue(35)
param backupDays int = 14

@description('Copies of the backups in the paired region. Cannot be changed later.')
param geoRedundantBackup bool = false

@description('A standby server, at twice the price. Not with a Standard_B size.')
@allowed(['Disabled', 'SameZone', 'ZoneRedundant'])
param highAvailability string = 'Disabled'

// ---- What watches -------------------------------------------------------------------------------------------------

@description('Seconds that the oldest ready job may wait before somebody is woken.')
@minValue(60)
param oldestAgeLimit int = 900

@description('Days that logs and metrics are kept.')
@minValue(30)
@maxValue(730)
param logRetentionDays int = 30

@description('Gigabytes of logs a day after which the rest of the day is dropped.')
@minValue(1)
param logDailyCapGB int = 1

@description('Purge protection of the Key Vault: also the owner cannot delete a secret for good for 90 days.')
param vaultPurgeProtection bool = false

@description('Amount a month, in the currency of the bill, that the budget warns about; 0: no budget.')
@minValue(0)
param monthlyBudget int = 0

@description('First day of the month the budget begins, as in "2026-12-01". Azure never lets it be changed.')
param budgetStart string = ''

// ---- Names --------------------------------------------------------------------------------------------------------

var token = uniqueString(subscription().id, environmentName, location)
var allTags = union(tags, { 'azd-env-name': environmentName })
var names = {
  identity: 'id-${environmentName}-${token}'
  storage: 'st${token}'
  database: empty(databaseServerName) ? 'psql-${token}' : databaseServerName
  vault: 'kv-${token}'
  component: 'appi-${token}'
  functions: 'func-${token}'
  watch: '${environmentName}-${token}'
}
var workQueues = ['tickets', 'reports', 'webhooks']
var deploymentContainer = 'app-package'
var databaseName = 'larkfield'
var databaseHost = '${names.database}.postgres.database.azure.com'
var blobUri = 'https://${names.storage}.blob.${environment().suffixes.storage}/'
var queueUri = 'https://${names.storage}.queue.${environment().suffixes.storage}/'
var vaultUri = 'https://${names.vault}${environment().suffixes.keyvaultDns}/'

// ---- The private network: what has to be reached, and the name it is known by there ---------------------------------

var isPrivate = networkMode == 'private'
var endpoints = [
  { part: 'blob', type: 'Microsoft.Storage/storageAccounts', name: names.storage }
  { part: 'queue', type: 'Microsoft.Storage/storageAccounts', name: names.storage }
  { part: 'postgresqlServer', type: 'Microsoft.DBforPostgreSQL/flexibleServers', name: names.database }
  { part: 'vault', type: 'Microsoft.KeyVault/vaults', name: names.vault }
]
var zones = {
  blob: 'privatelink.blob.${environment().suffixes.storage}'
  queue: 'privatelink.queue.${environment().suffixes.storage}'
  postgresqlServer: 'privatelink.postgres.database.azure.com'
  vault: 'privatelink.vaultcore.azure.net'
}

// ---- Connections: every scale group of the app at its largest has to fit into the database --------------------------

// Connections for users by size: max_connections less the 15 that Azure keeps for itself.
var databaseSizes = {
  Standard_B1ms: { tier: 'Burstable', connections: 35 }
  Standard_B2s: { tier: 'Burstable', connections: 414 }
  Standard_B2ms: { tier: 'Burstable', connections: 844 }
  Standard_D2ds_v5: { tier: 'GeneralPurpose', connections: 844 }
  Standard_D4ds_v5: { tier: 'GeneralPurpose', connections: 1703 }
}
var databaseSize = databaseSizes[databaseSku]

// maximumInstanceCount is a limit of each scale group (Azure/azure-rest-api-specs#45083): HTTP is one, every queue is
// one. A timer runs on one instance of its own. Each instance is one process with one pool.
var timers = 2
var mostInstances = maximumInstanceCount * (1 + length(workQueues)) + timers
var fittingPool = min(10, databaseSize.connections / mostInstances)
var poolSize = fittingPool >= 2
  ? fittingPool
  : fail('${databaseSku} cannot bear ${mostInstances} instances: lower maximumInstanceCount, or enlarge it.')

// ---- Who administers the database ----------------------------------------------------------------------------------

var deployerName = deployer().?userPrincipalName ?? ''
var administrator = {
  id: empty(databaseAdminId) ? deployer().objectId : databaseAdminId
  name: !empty(databaseAdminName) ? databaseAdminName : empty(deployerName) ? deployer().objectId : deployerName
  type: !empty(databaseAdminType) ? databaseAdminType : empty(deployerName) ? 'ServicePrincipal' : 'User'
}

// ---- The app's settings --------------------------------------------------------------------------------------------

var secrets = [
  { name: 'provider-api-key', exists: !empty(providerApiKey) }
  { name: 'webhook-secret', exists: !empty(webhookSecret) }
  { name: 'webhook-secret-previous', exists: !empty(webhookSecretPrevious) }
]
var hasSecrets = !empty(providerApiKey) || !empty(webhookSecret) || !empty(webhookSecretPrevious)
// The app takes an empty setting as one that is not set.
var secretSettings = {
  PROVIDER_API_KEY: empty(providerApiKey) ? '' : '@Microsoft.KeyVault(SecretUri=${vaultUri}secrets/provider-api-key)'
  WEBHOOK_SECRET: empty(webhookSecret) ? '' : '@Microsoft.KeyVault(SecretUri=${vaultUri}secrets/webhook-secret)'
  WEBHOOK_SECRET_PREVIOUS: empty(webhookSecretPrevious)
    ? ''
    : '@Microsoft.KeyVault(SecretUri=${vaultUri}secrets/webhook-secret-previous)'
}
var clientId = identity.outputs.clientId
var identitySettings = {
  AzureWebJobsStorage__blobServiceUri: blobUri
  AzureWebJobsStorage__credential: 'managedidentity'
  AzureWebJobsStorage__clientId: clientId
  JobsQueue__queueServiceUri: queueUri
  JobsQueue__credential: 'managedidentity'
  JobsQueue__clientId: clientId
  APPLICATIONINSIGHTS_CONNECTION_STRING: monitoring.outputs.connectionString
  APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${clientId};Authorization=AAD'
  AZURE_CLIENT_ID: clientId
  DATABASE_AUTH: 'entra'
  DATABASE_URL: 'postgresql://${names.identity}@${databaseHost}:5432/${databaseName}?sslmode=verify-full'
}
// Left to itself, the exporter measures itself into the workspace, asks Microsoft for orders, and sends it statistics:
// lines on the bill, threads, and addresses that a private network does not let out.
var exporterSettings = {
  APPLICATIONINSIGHTS_CONTROLPLANE_DISABLED: 'true'
  APPLICATIONINSIGHTS_OPENTELEMETRY_RESOURCE_METRIC_DISABLED: 'true'
  APPLICATIONINSIGHTS_SDKSTATS_DISABLED: 'true'
  APPLICATIONINSIGHTS_STATSBEAT_DISABLED_ALL: 'true'
}
var workSettings = {
  AzureWebJobsDisableHomepage: 'true' // the app answers at / itself
  DATABASE_POOL_SIZE: string(poolSize)
  DATABASE_PREPARE: 'true' // no PgBouncer lies in between
  TICKET_QUEUE: workQueues[0]
  REPORT_QUEUE: workQueues[1]
  WEBHOOK_QUEUE: workQueues[2]
  RELAY_SCHEDULE: relaySchedule
  SWEEP_SCHEDULE: sweepSchedule
  LOG_FORMAT: 'json'
  PROVIDER_URL: providerUrl
  PROVIDER_KEY_HEADER: providerKeyHeader
  PROVIDER_CHAT_MODEL: chatModel
  PROVIDER_EMBEDDING_MODEL: embeddingModel
  PROVIDER_CHAT_RPM: string(chatRequestsPerMinute)
  PROVIDER_CHAT_TPM: string(chatTokensPerMinute)
}

// ---- What is made -------------------------------------------------------------------------------------------------

resource group 'Microsoft.Resources/resourceGroups@2025-04-01' = {
  name: 'rg-${environmentName}'
  location: location
  tags: allTags
}

module identity 'modules/identity.bicep' = {
  scope: group
  name: 'identity'
  params: { name: names.identity, location: location, tags: allTags }
}

module monitoring 'modules/monitoring.bicep' = {
  scope: group
  name: 'monitoring'
  params: {
    workspaceName: 'log-${names.watch}'
    componentName: names.component
    location: location
    tags: allTags
    retentionDays: logRetentionDays
    dailyCapGB: logDailyCapGB
  }
}

module storage 'modules/storage.bicep' = {
  scope: group
  name: 'storage'
  params: {
    name: names.storage
    location: location
    tags: allTags
    workQueues: workQueues
    deploymentContainer: deploymentContainer
    isPrivate: isPrivate
    zoneRedundant: zoneRedundant
  }
}

module database 'modules/database.bicep' = {
  scope: group
  name: 'database'
  params: {
    name: names.database
    location: location
    tags: allTags
    databaseName: databaseName
    skuName: databaseSku
    tier: databaseSize.tier
    version: postgresVersion
    storageSizeGB: databaseStorageGB
    backupDays: backupDays
    geoRedundantBackup: geoRedundantBackup
    highAvailability: highAvailability
    isPrivate: isPrivate
    administratorId: administrator.id
    administratorName: administrator.name
    administratorType: administrator.type
    workspaceId: monitoring.outputs.workspaceId
  }
}

module vault 'modules/vault.bicep' = if (hasSecrets) {
  scope: group
  name: 'vault'
  params: {
    name: names.vault
    location: location
    tags: allTags
    isPrivate: isPrivate
    purgeProtection: vaultPurgeProtection
    workspaceId: monitoring.outputs.workspaceId
    secrets: {
      'provider-api-key': providerApiKey
      'webhook-secret': webhookSecret
      'webhook-secret-previous': webhookSecretPrevious
    }
    secretNames: map(secrets, secret => secret.name)
  }
}

module network 'modules/network.bicep' = if (isPrivate) {
  scope: group
  name: 'network'
  params: {
    name: 'vnet-${names.watch}'
    location: location
    tags: allTags
    zoneNames: map(endpoints, endpoint => zones[endpoint.part])
  }
}

// One after the other behind the service that they lead to: a server that is still being set up refuses an endpoint.
module privateEndpoints 'modules/endpoint.bicep' = [
  for endpoint in endpoints: if (isPrivate && (endpoint.part != 'vault' || hasSecrets)) {
    scope: group
    name: 'endpoint-${endpoint.part}'
    params: {
      name: 'pe-${endpoint.name}-${endpoint.part}' // a restored server gets an endpoint of its own
      location: location
      tags: allTags
      subnetId: network!.outputs.endpointSubnetId
      serviceId: resourceId(subscription().subscriptionId, group.name, endpoint.type, endpoint.name)
      groupId: endpoint.part
      zoneName: zones[endpoint.part]
    }
    dependsOn: [storage, database, vault]
  }
]

module access 'modules/access.bicep' = {
  scope: group
  name: 'access'
  params: {
    principalId: identity.outputs.principalId
    storageName: names.storage
    workQueues: workQueues
    componentName: names.component
    vaultName: names.vault
    secrets: secrets
    operatorGroupId: operatorGroupId
  }
  dependsOn: [storage, monitoring, vault]
}

module functions 'modules/functions.bicep' = {
  scope: group
  name: 'functions'
  params: {
    name: names.functions
    location: location
    tags: allTags
    identityId: identity.outputs.id
    deploymentContainerUrl: '${blobUri}${deploymentContainer}'
    pythonVersion: pythonVersion
    instanceMemoryMB: instanceMemoryMB
    maximumInstanceCount: maximumInstanceCount
    readyHttpInstances: readyHttpInstances
    httpConcurrency: httpConcurrency
    zoneRedundant: zoneRedundant
    subnetId: isPrivate ? network!.outputs.appSubnetId : ''
    settings: union(furtherSettings, exporterSettings, workSettings, secretSettings, identitySettings)
  }
  dependsOn: [access, database, privateEndpoints]
}

module alerts 'modules/alerts.bicep' = {
  scope: group
  name: 'alerts'
  params: {
    prefix: names.watch
    location: location
    tags: allTags
    mail: alertEmail
    phone: alertPhone
    workspaceId: monitoring.outputs.workspaceId
    databaseId: database.outputs.id
    oldestAgeLimit: oldestAgeLimit
    databaseConnections: databaseSize.connections
  }
}

module workbook 'modules/workbook.bicep' = {
  scope: group
  name: 'workbook'
  params: { location: location, tags: allTags, componentId: monitoring.outputs.componentId }
}

module budget 'modules/budget.bicep' = if (monthlyBudget > 0) {
  scope: group
  name: 'budget'
  params: {
    name: 'budget-${environmentName}'
    amount: monthlyBudget
    startDate: budgetStart
    mail: alertEmail
  }
}

// ---- For azd, for the hook that prepares the database, and for people ----------------------------------------------

output AZURE_LOCATION string = location
output AZURE_TENANT_ID string = tenant().tenantId
output AZURE_RESOURCE_GROUP string = group.name
output API_URL string = 'https://${functions.outputs.hostName}'
output FUNCTION_APP_NAME string = names.functions
output STORAGE_ACCOUNT_NAME string = names.storage
output DATABASE_SERVER_ID string = database.outputs.id
output DATABASE_HOST string = databaseHost
output DATABASE_NAME string = databaseName
output DATABASE_ADMIN string = administrator.name
output DATABASE_APP_ROLE string = names.identity
output DATABASE_APP_OBJECT_ID string = identity.outputs.principalId
output NETWORK_MODE string = networkMode
