// The Key Vault, made only when there is a secret to keep. Deploying needs no right to read it.

param name string
param location string
param tags object

@description('Whether only a private endpoint leads here.')
param isPrivate bool

param purgeProtection bool

@description('Id of the workspace that gets the record of who read what.')
param workspaceId string

@description('Secret values by the name of the secret.')
@secure()
param secrets object

@description('The names, for the loop: Azure does not loop over what is secret.')
param secretNames array

resource vault 'Microsoft.KeyVault/vaults@2024-11-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    tenantId: tenant().tenantId
    sku: { family: 'A', name: 'standard' }
    enableRbacAuthorization: true
    softDeleteRetentionInDays: purgeProtection ? 90 : 7
    enablePurgeProtection: purgeProtection ? true : null // Azure refuses a plain false
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
    networkAcls: { defaultAction: isPrivate ? 'Deny' : 'Allow', bypass: 'None' }
  }
}

resource values 'Microsoft.KeyVault/vaults/secrets@2024-11-01' = [
  for name in secretNames: if (!empty(secrets[name])) {
    parent: vault
    name: name
    properties: { value: secrets[name] }
  }
]

resource audit 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  scope: vault
  name: 'to-workspace'
  properties: { workspaceId: workspaceId, logs: [{ category: 'AuditEvent', enabled: true }] }
}

output id string = vault.id
