// A private endpoint of one data service, with its name in the private DNS zone.

param name string
param location string
param tags object
param subnetId string

@description('Id of the service, and which part of it (blob, queue, postgresqlServer, vault).')
param serviceId string
param groupId string

param zoneName string

resource endpoint 'Microsoft.Network/privateEndpoints@2024-05-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    subnet: { id: subnetId }
    privateLinkServiceConnections: [
      { name: groupId, properties: { privateLinkServiceId: serviceId, groupIds: [groupId] } }
    ]
  }

  resource zoneGroup 'privateDnsZoneGroups' = {
    name: 'default'
    properties: { privateDnsZoneConfigs: [{ name: groupId, properties: { privateDnsZoneId: zone.id } }] }
  }
}

resource zone 'Microsoft.Network/privateDnsZones@2024-06-01' existing = {
  name: zoneName
}
