// PostgreSQL: only Entra tokens open it, and vector is the one extension. What lies on a server is changed one thing
// after the other: two changes at once end in ServerIsBusy, an administrator too early in an error as well.

param name string
param location string
param tags object
param databaseName string

@description('Compute size and its tier.')
param skuName string
param tier string

param version string
param storageSizeGB int
param backupDays int
param geoRedundantBackup bool
param highAvailability string

@description('Whether only a private endpoint leads here.')
param isPrivate bool

@description('Object id, name and kind (User, Group, ServicePrincipal) of the administrator.')
param administratorId string
param administratorName string
param administratorType string

@description('Id of the workspace that gets the server log.')
param workspaceId string

var configurations = [
  { name: 'azure.extensions', value: 'vector' }
  { name: 'ssl_min_protocol_version', value: 'TLSv1.2' }
]

resource server 'Microsoft.DBforPostgreSQL/flexibleServers@2025-08-01' = {
  name: name
  location: location
  tags: tags
  sku: { name: skuName, tier: tier }
  properties: {
    version: version
    authConfig: { activeDirectoryAuth: 'Enabled', passwordAuth: 'Disabled', tenantId: tenant().tenantId }
    storage: { storageSizeGB: storageSizeGB, autoGrow: 'Enabled' }
    backup: {
      backupRetentionDays: backupDays
      geoRedundantBackup: geoRedundantBackup ? 'Enabled' : 'Disabled'
    }
    highAvailability: { mode: highAvailability }
    network: { publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled' }
  }
}

// Flex Consumption has no fixed address to name here. This lets every address of Azure knock, of strangers too; what
// they lack is a token.
resource azureServices 'Microsoft.DBforPostgreSQL/flexibleServers/firewallRules@2025-08-01' = if (!isPrivate) {
  parent: server
  name: 'AllowAzureServices'
  properties: { startIpAddress: '0.0.0.0', endIpAddress: '0.0.0.0' }
}

resource administrator 'Microsoft.DBforPostgreSQL/flexibleServers/administrators@2025-08-01' = {
  parent: server
  name: administratorId
  properties: {
    principalName: administratorName
    principalType: administratorType
    tenantId: tenant().tenantId
  }
  dependsOn: [azureServices]
}

@batchSize(1)
resource settings 'Microsoft.DBforPostgreSQL/flexibleServers/configurations@2025-08-01' = [
  for configuration in configurations: {
    parent: server
    name: configuration.name
    properties: { value: configuration.value, source: 'user-override' }
    dependsOn: [administrator]
  }
]

resource database 'Microsoft.DBforPostgreSQL/flexibleServers/databases@2025-08-01' = {
  parent: server
  name: databaseName
  properties: { charset: 'UTF8', collation: 'en_US.utf8' }
  dependsOn: [settings]
}

resource serverLog 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  scope: server
  name: 'to-workspace'
  properties: { workspaceId: workspaceId, logs: [{ category: 'PostgreSQLLogs', enabled: true }] }
  dependsOn: [database]
}

output id string = server.id
