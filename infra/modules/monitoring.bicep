// Where logs, traces and metrics go. Only Entra tokens may write; the connection string is an address and no secret.

param workspaceName string
param componentName string
param location string
param tags object
param retentionDays int
param dailyCapGB int

resource workspace 'Microsoft.OperationalInsights/workspaces@2025-02-01' = {
  name: workspaceName
  location: location
  tags: tags
  properties: {
    sku: { name: 'PerGB2018' }
    retentionInDays: retentionDays
    workspaceCapping: { dailyQuotaGb: dailyCapGB }
    features: { disableLocalAuth: true }
  }
}

resource component 'Microsoft.Insights/components@2020-02-02' = {
  name: componentName
  location: location
  tags: tags
  kind: 'web'
  properties: {
    Application_Type: 'web'
    WorkspaceResourceId: workspace.id
    DisableLocalAuth: true
  }
}

output workspaceId string = workspace.id
output connectionString string = component.properties.ConnectionString
output componentId string = component.id
