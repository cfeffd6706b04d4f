// The function app on Flex Consumption. Its settings come with it, so that it never starts without them; a number of
// settings that other plans want are errors on this one.

param name string
param location string
param tags object

@description('Id of the app\'s identity.')
param identityId string

@description('Address of the container that deployments put the app into.')
param deploymentContainerUrl string

param pythonVersion string
param instanceMemoryMB int
param maximumInstanceCount int
param readyHttpInstances int
param httpConcurrency int
param zoneRedundant bool

@description('Id of the subnet that the app reaches the data services through; empty: the internet.')
param subnetId string

@description('App settings by name.')
param settings object

resource plan 'Microsoft.Web/serverfarms@2025-03-01' = {
  name: 'plan-${name}'
  location: location
  tags: tags
  kind: 'functionapp'
  sku: { name: 'FC1', tier: 'FlexConsumption' }
  properties: { reserved: true, zoneRedundant: zoneRedundant }
}

resource app 'Microsoft.Web/sites@2025-03-01' = {
  name: name
  location: location
  tags: union(tags, { 'azd-service-name': 'api' })
  kind: 'functionapp,linux'
  identity: { type: 'UserAssigned', userAssignedIdentities: { '${identityId}': {} } }
  properties: {
    serverFarmId: plan.id
    httpsOnly: true
    keyVaultReferenceIdentity: identityId
    virtualNetworkSubnetId: empty(subnetId) ? null : subnetId
    functionAppConfig: {
      deployment: {
        storage: {
          type: 'blobContainer'
          value: deploymentContainerUrl
          authentication: { type: 'UserAssignedIdentity', userAssignedIdentityResourceId: identityId }
        }
      }
      runtime: { name: 'python', version: pythonVersion }
      scaleAndConcurrency: {
        instanceMemoryMB: instanceMemoryMB
        maximumInstanceCount: maximumInstanceCount
        alwaysReady: readyHttpInstances == 0 ? [] : [{ name: 'http', instanceCount: readyHttpInstances }]
        triggers: { http: { perInstanceConcurrency: httpConcurrency } }
      }
    }
    siteConfig: {
      minTlsVersion: '1.2'
      scmMinTlsVersion: '1.2'
      http20Enabled: true
      appSettings: [for setting in items(settings): { name: setting.key, value: setting.value }]
    }
  }

  resource noFtpPassword 'basicPublishingCredentialsPolicies' = {
    name: 'ftp'
    properties: { allow: false }
  }

  resource noDeployPassword 'basicPublishingCredentialsPolicies' = {
    name: 'scm'
    properties: { allow: false }
  }
}

output hostName string = app.properties.defaultHostName
