// The storage account: the work queues with their poison queues, the app's package, and what the host keeps for itself.
// No key opens it. All queues are made here, so that nobody needs the right to make one.

param name string
param location string
param tags object

@description('Names of the work queues; each gets a poison queue beside it.')
param workQueues array

@description('Name of the container that deployments put the app into.')
param deploymentContainer string

@description('Whether only private endpoints lead here.')
param isPrivate bool

param zoneRedundant bool

resource account 'Microsoft.Storage/storageAccounts@2025-06-01' = {
  name: name
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: { name: zoneRedundant ? 'Standard_ZRS' : 'Standard_LRS' }
  properties: {
    allowSharedKeyAccess: false
    defaultToOAuthAuthentication: true
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
    networkAcls: { defaultAction: isPrivate ? 'Deny' : 'Allow', bypass: 'None' }
  }

  resource blobs 'blobServices' = {
    name: 'default'
    properties: {
      deleteRetentionPolicy: { enabled: true, days: 7 }
      containerDeleteRetentionPolicy: { enabled: true, days: 7 }
    }

    resource package 'containers' = {
      name: deploymentContainer
      properties: { publicAccess: 'None' }
    }
  }

  resource queueService 'queueServices' = {
    name: 'default'

    resource work 'queues' = [for queue in workQueues: { name: queue }]

    resource poison 'queues' = [for queue in workQueues: { name: '${queue}-poison' }]
  }
}

output id string = account.id
