// Mail when the resource group has cost more than planned. It stops nothing.

param name string
param amount int
param startDate string
param mail string

var shares = [
  { name: 'half', percent: 50, kind: 'Actual' }
  { name: 'spent', percent: 100, kind: 'Actual' }
  { name: 'foreseen', percent: 110, kind: 'Forecasted' }
]

resource budget 'Microsoft.Consumption/budgets@2024-08-01' = {
  name: name
  properties: {
    category: 'Cost'
    amount: amount
    timeGrain: 'Monthly'
    timePeriod: { startDate: startDate }
    notifications: toObject(shares, share => share.name, share => {
      enabled: true
      operator: 'GreaterThanOrEqualTo'
      threshold: share.percent
      thresholdType: share.kind
      contactEmails: [mail]
    })
  }
}
