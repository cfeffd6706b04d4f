// Who may do what: every role assignment of the system, each on the smallest thing that it works on.

@description('Object id of the app\'s identity.')
param principalId string

param storageName string
param workQueues array
param componentName string
param vaultName string

@description('What the app reads in the vault: name, and whether it exists.')
param secrets array

@description('Object id of the group of operators; empty: none.')
param operatorGroupId string

var roles = {
  // Leases of the timers, function keys, the package: the host makes its own containers, hence the account.
  blobDataOwner: 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b'
  // Reader and Message Processor, which the documentation names for a trigger, cannot hide a message again: the host
  // could neither give back a failed one nor hold a long one (MicrosoftDocs/azure-docs#120932).
  queueDataContributor: '974c5e8b-45b9-4653-ba55-5f855dd0fb88'
  monitoringMetricsPublisher: '3913510d-42f4-4e42-8a64-420c390055eb'
  keyVaultSecretsUser: '4633458b-17de-408a-b874-0445c86b69e6'
  reader: 'acdd72a7-3385-48ef-bd42-f606fba81ae7'
}
var queueNames = concat(workQueues, map(workQueues, queue => '${queue}-poison'))

resource account 'Microsoft.Storage/storageAccounts@2025-06-01' existing = {
  name: storageName

  resource queueService 'queueServices' existing = {
    name: 'default'

    resource queues 'queues' existing = [for queue in queueNames: { name: queue }]
  }
}

resource component 'Microsoft.Insights/components@2020-02-02' existing = {
  name: componentName
}

resource vault 'Microsoft.KeyVault/vaults@2024-11-01' existing = {
  name: vaultName

  resource known 'secrets' existing = [for secret in secrets: { name: secret.name }]
}

resource hostStorage 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: account
  name: guid(account.id, principalId, roles.blobDataOwner)
  properties: {
    principalId: principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.blobDataOwner)
  }
}

resource messages 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (queue, index) in queueNames: {
    scope: account::queueService::queues[index]
    name: guid(account.id, queue, principalId, roles.queueDataContributor)
    properties: {
      principalId: principalId
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.queueDataContributor)
    }
  }
]

resource telemetry 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: component
  name: guid(component.id, principalId, roles.monitoringMetricsPublisher)
  properties: {
    principalId: principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId(
      'Microsoft.Authorization/roleDefinitions',
      roles.monitoringMetricsPublisher
    )
  }
}

resource secretReading 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (secret, index) in secrets: if (secret.exists) {
    scope: vault::known[index]
    name: guid(vault.id, secret.name, principalId, roles.keyVaultSecretsUser)
    properties: {
      principalId: principalId
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.keyVaultSecretsUser)
    }
  }
]

// Storage Explorer finds queues by listing the account's, and the account by reading it.
resource operators 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in (empty(operatorGroupId) ? [] : [roles.queueDataContributor, roles.reader]): {
    scope: account
    name: guid(account.id, operatorGroupId, role)
    properties: {
      principalId: operatorGroupId
      principalType: 'Group'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', role)
    }
  }
]
