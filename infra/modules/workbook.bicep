// The picture of the queue: how old, how many, how fast, what failed. Its text lies in workbook.json.

param location string
param tags object
param componentId string

resource workbook 'Microsoft.Insights/workbooks@2023-06-01' = {
  name: guid(resourceGroup().id, 'queue')
  location: location
  tags: tags
  kind: 'shared'
  properties: {
    displayName: 'Larkfield: the queue'
    category: 'workbook'
    sourceId: componentId
    serializedData: loadTextContent('workbook.json')
  }
}
