// What wakes somebody, and what waits for the morning. A queue hides a stopped worker behind fast 202s, so the rules
// watch ages, not errors. Severity 1 goes to the phone as well, the rest to the mailbox.
//
// Azure's own queue metric is hourly and per account, too late and too coarse: the app reports its queue itself, once
// in each pass of the sweep.

param prefix string
param location string
param tags object

param mail string

@description('Country code and number; empty: nobody is woken, alerts are mailed only.')
param phone string

param workspaceId string
param databaseId string

@description('Seconds that the oldest ready job, or the oldest row of the outbox, may wait.')
param oldestAgeLimit int

@description('Connections that the database has for users.')
param databaseConnections int

// A table comes into being with its first row. The empty second leg lets a query stand before that.
var metrics = '''
union isfuzzy=true AppMetrics, (datatable(TimeGenerated: datetime, Name: string, Sum: real, ItemCount: int)[])
| extend Value = Sum / max_of(ItemCount, 1)
'''
var requests = '''
union isfuzzy=true AppRequests, (datatable(TimeGenerated: datetime, ResultCode: string)[])
| extend Status = toint(ResultCode)
| where Status between (100 .. 599)
| summarize Requests = count(), Failed = countif(Status >= 500)
| where Failed >= 5
| project FailedPercent = 100.0 * Failed / Requests
'''

var logRules = [
  {
    name: 'oldest-job'
    severity: 1
    description: 'A job that is ready has waited too long: no worker, or too few, or a provider that answers nobody.'
    query: '${metrics}| where Name == "larkfield.oldest_queued_seconds"'
    column: 'Value'
    aggregation: 'Maximum'
    operator: 'GreaterThan'
    threshold: oldestAgeLimit
  }
  {
    name: 'no-sample'
    severity: 1
    description: 'The sweep has reported nothing for 15 minutes: timers stand still, or the database is away.'
    query: '${metrics}| where Name == "larkfield.oldest_queued_seconds"'
    column: ''
    aggregation: 'Count'
    operator: 'LessThan'
    threshold: 1
  }
  {
    name: 'failed-requests'
    severity: 1
    description: 'More than 5 % of the requests, and at least 5, ended in an error of ours. Customers see it.'
    query: requests
    column: 'FailedPercent'
    aggregation: 'Maximum'
    operator: 'GreaterThan'
    threshold: 5
  }
  {
    name: 'outbox-age'
    severity: 2
    description: 'A message that could go lies in the outbox too long: the relay stands still, or the queue is away.'
    query: '${metrics}| where Name == "larkfield.outbox_oldest_seconds"'
    column: 'Value'
    aggregation: 'Maximum'
    operator: 'GreaterThan'
    threshold: oldestAgeLimit
  }
  {
    name: 'dead-letters'
    severity: 2
    description: 'A job has used up its attempts and waits for a person: retry it, or discard it.'
    query: '${metrics}| where Name == "larkfield.dead_letters"'
    column: 'Value'
    aggregation: 'Maximum'
    operator: 'GreaterThan'
    threshold: 0
  }
]

var databaseRules = [
  {
    name: 'database-storage'
    description: 'The disk is 80 % full. At 95 % the server turns read-only and every ticket is refused.'
    metric: 'storage_percent'
    threshold: 80
  }
  {
    name: 'database-connections'
    description: 'Four fifths of the connections are taken: fewer instances, a smaller pool, or a larger server.'
    metric: 'active_connections'
    threshold: databaseConnections * 4 / 5
  }
]

var mailReceivers = [{ name: 'mailbox', emailAddress: mail, useCommonAlertSchema: true }]
var phoneParts = split(phone, ' ')
var smsReceivers = empty(phone)
  ? []
  : [{ name: 'phone', countryCode: first(phoneParts), phoneNumber: join(skip(phoneParts, 1), '') }]

resource wake 'Microsoft.Insights/actionGroups@2023-01-01' = {
  name: '${prefix}-wake'
  location: 'global'
  tags: tags
  properties: {
    groupShortName: 'wake'
    enabled: true
    emailReceivers: mailReceivers
    smsReceivers: smsReceivers
  }
}

resource tell 'Microsoft.Insights/actionGroups@2023-01-01' = {
  name: '${prefix}-tell'
  location: 'global'
  tags: tags
  properties: { groupShortName: 'tell', enabled: true, emailReceivers: mailReceivers }
}

resource logAlerts 'Microsoft.Insights/scheduledQueryRules@2023-12-01' = [
  for rule in logRules: {
    name: '${prefix}-${rule.name}'
    location: location
    tags: tags
    kind: 'LogAlert'
    properties: {
      displayName: rule.name
      description: rule.description
      severity: rule.severity
      enabled: true
      scopes: [workspaceId]
      evaluationFrequency: 'PT5M'
      windowSize: 'PT15M'
      autoMitigate: true
      skipQueryValidation: true
      criteria: {
        allOf: [
          {
            query: rule.query
            metricMeasureColumn: empty(rule.column) ? null : rule.column
            timeAggregation: rule.aggregation
            operator: rule.operator
            threshold: rule.threshold
            failingPeriods: { numberOfEvaluationPeriods: 1, minFailingPeriodsToAlert: 1 }
          }
        ]
      }
      actions: { actionGroups: [rule.severity == 1 ? wake.id : tell.id] }
    }
  }
]

resource metricAlerts 'Microsoft.Insights/metricAlerts@2018-03-01' = [
  for rule in databaseRules: {
    name: '${prefix}-${rule.name}'
    location: 'global'
    tags: tags
    properties: {
      description: rule.description
      severity: 2
      enabled: true
      scopes: [databaseId]
      evaluationFrequency: 'PT5M'
      windowSize: 'PT15M'
      autoMitigate: true
      criteria: {
        'odata.type': 'Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria'
        allOf: [
          {
            criterionType: 'StaticThresholdCriterion'
            name: rule.metric
            metricName: rule.metric
            timeAggregation: 'Average'
            operator: 'GreaterThan'
            threshold: rule.threshold
          }
        ]
      }
      actions: [{ actionGroupId: tell.id }]
    }
  }
]
