import t from 'tap'
import {
  type Cells,
  lineCell,
  purchaseCell,
  refundCell,
} from '../../../projections/ledger/query.ts'
import {
  type FocusRow,
  focusColumns,
  type FocusMonth,
  pricingQuantity,
  rowOf,
} from '../../../src/api/query/focus/columns.ts'
import { purchaseCells, refundCells } from '../../../src/api/query/focus/credits.ts'
import { focusRows } from '../../../src/api/query/focus/table.ts'
import { usageCells } from '../../../src/api/query/focus/usage.ts'
import { TimeZone } from '../../../src/kernel/time-zone.ts'

/** Cells by their places, from what they say. */
function cells(
  places: Readonly<Record<string, number>>,
  said: Readonly<Record<string, string>>,
): Cells {
  return Object.keys(places).map((name) => said[name] ?? null)
}

const facts = {
  line_id: 'video_01M80DRT5PGH78S7RPKJN6VB2P:1',
  settled_at: '2026-11-22T01:26:20.057000Z',
  tenant_id: 'acme',
  tenant_name: 'Acme 上海有限公司',
  user_id: 'ann',
  user_name: 'Ann',
  token_id: 'token_1',
  request_id: 'req_1',
  model: 'domestic-video-2-0',
  sku: 'domestic-video-2-0-720p-novideo',
  rule: 'video-a/2.0/requested-resolution/novideo',
  quantity: '108900',
  unit: 'token',
  price: '46',
  list_price: '50',
  per: '1000000',
  currency: 'CNY',
  amount: '5.0094',
  list_amount: '5.445',
  price_book_version: '2026-11-01',
  account_prices: '2',
  measurement: 'reported',
  tags: '{"project":"apollo"}',
  hash: 'ed249eef',
}
const line = cells(lineCell, facts)
const refund = cells(refundCell, {
  ...facts,
  adjustment_id: 'adj_1',
  posted_at: '2026-12-02T08:10:00.000000Z',
  refunded: '2.5',
  code: 'quality',
})
const grant = cells(purchaseCell, {
  id: 'paid-77',
  grant_id: 'paid-77',
  posted_at: '2026-11-03T10:59:59.999000Z',
  tenant_id: 'acme',
  tenant_name: 'Acme',
  currency: 'CNY',
  amount: '100',
  reference: 'INV-77',
})
const month: FocusMonth = {
  start: '2026-10-31T16:00:00Z',
  end: '2026-11-30T16:00:00Z',
  statement: null,
  issuer: 'gateway.example',
  terms: 'prepaid',
}

const rows = {
  usage: rowOf(usageCells(line, month)),
  postpaid: rowOf(usageCells(line, { ...month, terms: 'postpaid' })),
  credit: rowOf(refundCells(refund, month, null)),
  correction: rowOf(refundCells(refund, month, 'ACME-2026-011')),
  purchase: rowOf(purchaseCells(grant, month) ?? []),
} satisfies Readonly<Record<string, FocusRow>>

/** What every row must have by the specification. */
const never = [
  'BilledCost',
  'BillingAccountId',
  'BillingCurrency',
  'BillingPeriodEnd',
  'BillingPeriodStart',
  'ChargeCategory',
  'ChargePeriodEnd',
  'ChargePeriodStart',
  'ContractedCost',
  'EffectiveCost',
  'HostProviderName',
  'InvoiceIssuerName',
  'ListCost',
  'ServiceCategory',
  'ServiceName',
  'ServiceProviderName',
  'ServiceSubcategory',
] as const
const times = [
  'BillingPeriodEnd',
  'BillingPeriodStart',
  'ChargePeriodEnd',
  'ChargePeriodStart',
] as const
const decimals = [
  'BilledCost',
  'ConsumedQuantity',
  'ContractedCost',
  'ContractedUnitPrice',
  'EffectiveCost',
  'ListCost',
  'ListUnitPrice',
  'PricingQuantity',
] as const

for (const [name, row] of Object.entries(rows))
  t.test(`a row of ${name} keeps the rules of FOCUS`, (t) => {
    t.same(
      never.filter((column) => row[column] === null),
      [],
      'nothing is missing',
    )
    for (const column of times) t.match(row[column], /^\d{4}-\d\d-\d\dT\d\d:00:00Z$/, column)
    t.ok((row.ChargePeriodStart ?? '') < (row.ChargePeriodEnd ?? ''))
    for (const column of decimals) t.match(row[column] ?? '0', /^-?\d+(?:\.\d+)?$/, column)
    t.match(row.BillingCurrency, /^[A-Z]{3}$/)
    t.ok(['Usage', 'Purchase', 'Credit'].includes(row.ChargeCategory ?? ''))
    t.ok([null, 'Correction'].includes(row.ChargeClass))
    t.equal(row.ConsumedQuantity === null, row.ConsumedUnit === null)
    t.equal(row.PricingQuantity === null, row.PricingUnit === null)
    t.equal(row.SubAccountId === null, row.SubAccountType === null)
    t.ok(row.ChargeCategory === 'Usage' || row.ConsumedQuantity === null, 'only usage is consumed')
    t.ok(row.ChargeCategory !== 'Credit' || row.ContractedCost === row.BilledCost)
    t.ok(row.ChargeCategory !== 'Purchase' || row.ChargeFrequency !== 'Usage-Based')
    t.ok(row.ChargeClass !== null || row.ChargeCategory === 'Credit' || row.ListUnitPrice !== null)
    t.equal(typeof JSON.parse(row.Tags ?? ''), 'object')
    t.end()
  })

t.test('columns are in the order of their names, our own last', (t) => {
  const own = focusColumns.filter((name) => name.startsWith('x_'))
  const theirs = focusColumns.filter((name) => !name.startsWith('x_'))
  t.same([...focusColumns], [...theirs.toSorted(), ...own.toSorted()])
  t.end()
})

t.test('usage, refunds and bought credit', (t) => {
  t.match(rows.usage, {
    BilledCost: '0',
    EffectiveCost: '5.0094',
    ContractedCost: '5.0094',
    PricingQuantity: '0.1089',
    PricingUnit: '1000000 Tokens',
    ConsumedUnit: 'Tokens',
    ListCost: '5.445',
    ListUnitPrice: '50',
    SkuMeter: 'Tokens',
    SkuPriceId: '2026-11-01/domestic-video-2-0-720p-novideo/2',
    ChargePeriodStart: '2026-11-22T01:00:00Z',
    ChargePeriodEnd: '2026-11-22T02:00:00Z',
    BillingPeriodStart: '2026-10-31T16:00:00Z',
    InvoiceId: null,
    Tags: '{"project":"apollo"}',
  })
  t.equal(rows.postpaid.BilledCost, '5.0094', 'later billed as it was used')
  t.match(rows.correction, {
    ChargeCategory: 'Usage',
    ChargeClass: 'Correction',
    EffectiveCost: '-2.5',
  })
  t.match(rows.credit, {
    ChargeCategory: 'Credit',
    ChargeClass: null,
    BilledCost: '0',
    EffectiveCost: '-2.5',
    ChargePeriodStart: '2026-12-02T08:00:00Z',
    ChargeDescription: 'refund adj_1, quality',
    x_LineId: facts.line_id,
  })
  t.match(rows.purchase, {
    BilledCost: '100',
    EffectiveCost: '0',
    InvoiceId: 'INV-77',
    ChargePeriodEnd: '2026-11-03T11:00:00Z',
  })
  const takenBack = refund.map((cell, at) => (at === refundCell.refunded ? '-2.5' : cell))
  t.equal(rowOf(refundCells(takenBack, month, null)).EffectiveCost, '2.5')
  t.equal(
    purchaseCells(grant, { ...month, terms: 'postpaid' }),
    undefined,
    'payments are no charges',
  )
  const cached = line.map((cell, at) => (at === lineCell.rule ? 'text/chat/cached-input' : cell))
  t.equal(rowOf(usageCells(cached, month)).SkuMeter, 'Cached Input Tokens')
  t.equal(pricingQuantity('9007199254740991', '1000000'), '9007199254.740991')
  t.equal(pricingQuantity('1000', '1000'), '1')
  t.equal(pricingQuantity('7', '1'), '7')
  t.end()
})

async function* pages(...all: readonly (readonly Cells[])[]): AsyncGenerator<readonly Cells[]> {
  for (const page of all) yield await Promise.resolve(page)
}

t.test('rows are of the month of the zone, and of the terms of their tenant', async (t) => {
  const at = (time: string, tenant = 'acme'): Cells =>
    cells(lineCell, { ...facts, settled_at: time, tenant_id: tenant })
  const asked: string[] = []
  const found: FocusRow[] = []
  const all = {
    lines: pages(
      [
        at('2026-11-30T16:00:00.000000Z'),
        at('2026-11-30T15:59:59.999999Z'),
        at('2026-10-31T16:00:00.000001Z', 'later'),
      ],
      [],
      [at('2026-10-31T15:59:59.000000Z')],
    ),
    refunds: pages([refund]),
    purchases: pages([grant]),
  }
  const table = focusRows(all, {
    issuer: 'gateway.example',
    zone: TimeZone.named('Asia/Shanghai'),
    termsOf: (tenant) => {
      asked.push(tenant)
      return Promise.resolve(tenant === 'later' ? 'postpaid' : 'prepaid')
    },
  })
  for await (const page of table) found.push(...page.map(rowOf))
  t.same(
    found.map((row) => [row.ChargeCategory, row.BillingPeriodStart, row.BilledCost]),
    [
      ['Usage', '2026-11-30T16:00:00Z', '0'],
      ['Usage', '2026-10-31T16:00:00Z', '0'],
      ['Usage', '2026-10-31T16:00:00Z', '5.0094'],
      ['Usage', '2026-09-30T16:00:00Z', '0'],
      ['Credit', '2026-11-30T16:00:00Z', '0'],
      ['Purchase', '2026-10-31T16:00:00Z', '100'],
    ],
  )
  t.same(asked, ['acme', 'later'], 'each is asked for once')
})
