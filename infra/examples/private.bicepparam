// For production: data services on a virtual network only, zones, a standby database, a budget, somebody to wake.
using '../main.bicep'

param environmentName = 'larkfield-prod'
param location = 'westeurope'
param networkMode = 'private'
param zoneRedundant = true
param tags = { team: 'support' }

param alertEmail = 'support@example.com'
param alertPhone = '49 15112345678'
param operatorGroupId = '11111111-1111-1111-1111-111111111111'
param databaseAdminId = '22222222-2222-2222-2222-222222222222'
param databaseAdminName = 'larkfield-database-admins'
param databaseAdminType = 'Group'

param maximumInstanceCount = 10
param readyHttpInstances = 2

param providerUrl = 'https://larkfield.openai.azure.com/openai/v1'
param providerKeyHeader = 'api-key'
param providerApiKey = readEnvironmentVariable('PROVIDER_API_KEY', '')
param webhookSecret = readEnvironmentVariable('WEBHOOK_SECRET', '')

param databaseSku = 'Standard_D2ds_v5'
param databaseStorageGB = 64
param backupDays = 35
param geoRedundantBackup = true
param highAvailability = 'ZoneRedundant'

param logRetentionDays = 90
param vaultPurgeProtection = true
param monthlyBudget = 800
param budgetStart = '2026-12-01'
