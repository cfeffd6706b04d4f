// The smallest bill: no virtual network, the smallest database, no webhooks. Also an example for `az deployment`.
using '../main.bicep'

param environmentName = 'larkfield-try'
param location = 'westeurope'
param alertEmail = 'support@example.com'
param providerUrl = 'https://provider.example.com/v1'
