import t from 'tap'
import { type Cells, creditCell, lineCell, refundCell } from '../../../projections/ledger/query.ts'
import {
  type FocusRow,
  focusColumns,
  type FocusMonth,
  pricingQuantity,
  rowOf,
} from '../../../src/api/query/focus/columns.ts'
import { grantRows, refundRows } from '../../../src/api/query/focus/credits.ts'
import { type Billing, focusRows } from '../../../src/api/query/focus/table.ts'
import { usageCells } from '../../../src/api/query/focus/usage.ts'
import type { AccountHistory } from '../../../src/app/accounts/account-history.ts'
import { formatAmount, parseAmount } from '../../../src/kernel/money.ts'
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
  tenant_name: 'a later name',
  user_id: 'ann',
  user_name: 'a later name',
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
const granted = {
  id: 'paid-77',
  grant_id: 'paid-77',
  posted_at: '2026-11-03T10:59:59.999000Z',
  tenant_id: 'acme',
  currency: 'CNY',
  amount: '100',
  credit: 'paid',
  reference: 'bank transfer of May, see 77',
}
const grant = cells(creditCell, granted)
const gift = cells(creditCell, {
  ...granted,
  id: 'adj_9',
  grant_id: 'gift-1',
  amount: '-5',
  credit: 'promotional',
})
const account: AccountHistory = {
  name: 'Acme 上海有限公司',
  userNames: new Map([['ann', 'Ann']]),
  termsChanges: [],
}
const month: FocusMonth = {
  start: '2026-10-31T16:00:00Z',
  end: '2026-11-30T16:00:00Z',
  statement: null,
  issuer: 'gateway.example',
  account,
  terms: 'prepaid',
}
const december: FocusMonth = {
  ...month,
  start: '2026-11-30T16:00:00Z',
  end: '2026-12-31T16:00:00Z',
}
const postpaidMonth: FocusMonth = { ...month, terms: 'postpaid' }

/** The rows of a credit, which are a `Credit`, a `Purchase` or both. */
const both = (written: readonly Cells[]): readonly FocusRow[] => written.map(rowOf)
const none = rowOf([])
const [credit = none, creditToBalance = none] = both(refundRows(refund, december))
const [promotion = none, promotionToBalance = none] = both(grantRows(gift, month))
const [purchase = none] = both(grantRows(grant, month))

const rows = {
  usage: rowOf(usageCells(line, month)),
  postpaid: rowOf(usageCells(line, postpaidMonth)),
  credit,
  creditToBalance,
  promotion,
  promotionToBalance,
  purchase,
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
    if (row.ChargeCategory === 'Credit')
      for (const cost of ['EffectiveCost', 'ContractedCost', 'ListCost'] as const)
        t.equal(row[cost], row.BilledCost, `${cost} of a credit`)
    if (row.ChargeCategory === 'Purchase') t.equal(row.EffectiveCost, '0')
    t.equal(row.SkuPriceId === null, row.ListUnitPrice === null)
    t.same([row.InvoiceId, row.InvoiceDetailId], [null, null], 'a reference is no invoice')
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
  t.match(rows.usage, { BillingAccountName: 'Acme 上海有限公司', SubAccountName: 'Ann' })
  t.equal(rows.postpaid.BilledCost, '5.0094', 'later billed as it was used')
  t.match(rows.credit, {
    ChargeCategory: 'Credit',
    ChargeClass: null,
    BilledCost: '-2.5',
    EffectiveCost: '-2.5',
    ChargePeriodStart: '2026-12-02T08:00:00Z',
    ChargeDescription: 'refund adj_1, quality',
    x_LineId: facts.line_id,
  })
  t.match(rows.creditToBalance, {
    ChargeCategory: 'Purchase',
    BilledCost: '2.5',
    EffectiveCost: '0',
    ChargePeriodStart: '2026-12-02T08:00:00Z',
  })
  t.match(rows.purchase, {
    BilledCost: '100',
    EffectiveCost: '0',
    x_Reference: granted.reference,
    ChargePeriodEnd: '2026-11-03T11:00:00Z',
  })
  t.match(rows.promotion, { ChargeCategory: 'Credit', BilledCost: '5', EffectiveCost: '5' })
  t.match(rows.promotionToBalance, { ChargeCategory: 'Purchase', BilledCost: '-5' })
  const takenBack = refund.map((cell, at) => (at === refundCell.refunded ? '-2.5' : cell))
  t.equal(both(refundRows(takenBack, december))[0]?.EffectiveCost, '2.5')
  t.same(
    [refund, gift, grant].map((row, n) =>
      both((n === 0 ? refundRows : grantRows)(row, postpaidMonth)).map((of) => of.ChargeCategory),
    ),
    [['Credit'], ['Credit'], []],
    'of a postpaid tenant gifts lower the bill, and payments are no charges',
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

const billing: Billing = {
  issuer: 'gateway.example',
  requirePrices: () => Promise.resolve(),
  accountAt: () => Promise.resolve(account),
  balancesAt: () => Promise.resolve([]),
  tenants: async function* tenants() {},
}
const whole = {
  tenantId: undefined,
  currency: undefined,
  fromMs: undefined,
  toMs: undefined,
  since: undefined,
  asOf: 99n,
}

/** All rows of a file. */
async function fileOf(
  [lines, refunds, credits]: readonly (readonly Cells[])[],
  {
    filter = {},
    zone = 'UTC',
    ...facts
  }: Partial<Billing> & {
    readonly filter?: Partial<typeof whole>
    readonly zone?: string
  },
): Promise<readonly FocusRow[]> {
  const found: FocusRow[] = []
  const table = focusRows(
    {
      lines: pages(lines ?? []),
      refunds: pages(refunds ?? []),
      credits: credits && pages(credits),
    },
    { ...whole, ...filter },
    { ...billing, ...facts, zone: TimeZone.named(zone) },
  )
  for await (const page of table) found.push(...page.map(rowOf))
  return found
}

const lineAt = (time: string, position = '1', tenant = 'acme'): Cells =>
  cells(lineCell, { ...facts, settled_at: time, tenant_id: tenant, position })

t.test('rows are of the month of the zone, and each account is read once', async (t) => {
  const asked: string[] = []
  const found = await fileOf(
    [
      [
        lineAt('2026-11-30T16:00:00.000000Z'),
        lineAt('2026-11-30T15:59:59.999999Z'),
        lineAt('2026-10-31T16:00:00.000001Z', '1', 'later'),
        lineAt('2026-10-31T15:59:59.000000Z'),
      ],
      [refund],
      [grant],
    ],
    {
      zone: 'Asia/Shanghai',
      accountAt: (tenant, asOf) => {
        asked.push(`${tenant} as of ${asOf}`)
        return Promise.resolve(account)
      },
    },
  )
  t.same(
    found.map((row) => [row.ChargeCategory, row.BillingPeriodStart, row.BilledCost]),
    [
      ['Usage', '2026-11-30T16:00:00Z', '0'],
      ['Usage', '2026-10-31T16:00:00Z', '0'],
      ['Usage', '2026-10-31T16:00:00Z', '0'],
      ['Usage', '2026-09-30T16:00:00Z', '0'],
      ['Credit', '2026-11-30T16:00:00Z', '-2.5'],
      ['Purchase', '2026-11-30T16:00:00Z', '2.5'],
      ['Purchase', '2026-10-31T16:00:00Z', '100'],
    ],
  )
  t.same(asked, ['acme as of 99', 'later as of 99'])
})

t.test(
  'a charge lies in its billing month, also where a zone is half hours from UTC',
  async (t) => {
    for (const [zone, begins] of [
      ['Asia/Kolkata', '2026-10-31T18:30:00Z'],
      ['Australia/Adelaide', '2026-10-31T13:30:00Z'],
      ['Asia/Kathmandu', '2026-10-31T18:15:00Z'],
      ['Asia/Shanghai', '2026-10-31T16:00:00Z'],
    ] as const) {
      const beginsMs = Date.parse(begins)
      const times = [-1, 0, 1_700_000, 2_700_000].map((ms) => new Date(beginsMs + ms).toISOString())
      const at = (time: string): string => time.replace('Z', '000Z')
      const found = await fileOf(
        [
          times.map((time) => lineAt(at(time))),
          times.map((time) =>
            cells(refundCell, { ...facts, posted_at: at(time), refunded: '1', adjustment_id: 'a' }),
          ),
          times.map((time) => cells(creditCell, { ...granted, posted_at: at(time) })),
        ],
        { zone },
      )
      for (const row of found) {
        const [start, end] = [row.ChargePeriodStart ?? '', row.ChargePeriodEnd ?? '']
        t.ok((row.BillingPeriodStart ?? '') <= start && start < end, `${zone} ${start}`)
        t.ok(end <= (row.BillingPeriodEnd ?? ''), `${zone} ${end}`)
      }
      t.same(
        found
          .slice(0, 2)
          .map((row) => [row.BillingPeriodEnd === begins, row.BillingPeriodStart === begins]),
        [
          [true, false],
          [false, true],
        ],
        zone,
      )
    }
  },
)

t.test('a file waits for the price books up to its position', async (t) => {
  const failing = fileOf([[], [], []], {
    requirePrices: (asOf) => Promise.reject(new Error(`prices before ${asOf}`)),
  })
  await t.rejects(failing, { message: 'prices before 99' })
})

/** The sum of a column. */
const sumOf = (column: 'BilledCost' | 'EffectiveCost', found: readonly FocusRow[]): bigint =>
  found.reduce((sum, row) => sum + parseAmount(row[column] ?? '0'), 0n)

t.test('a change of terms bills nothing twice, and changes no row before it', async (t) => {
  const at = (day: number) => `2026-11-${String(day).padStart(2, '0')}T10:00:00.000000Z`
  const give = (id: string, position: number, credit: string): Cells =>
    cells(creditCell, {
      ...granted,
      id,
      grant_id: id,
      amount: '10',
      credit,
      posted_at: at(position),
      position: String(position),
    })
  const used = (position: number) => lineAt(at(position), String(position))
  const lines = [used(9), used(7), used(6), used(3)]
  const refunds = [
    cells(refundCell, {
      ...facts,
      adjustment_id: 'adj_1',
      refunded: '2',
      posted_at: at(4),
      posted_position: '4',
    }),
  ]
  const credits = [
    give('late', 10, 'paid'),
    give('gift', 2, 'promotional'),
    give('first', 1, 'paid'),
  ]
  const termsChanges = [
    { position: 5n, at: '2026-11-05T10:00:00.000Z', terms: 'postpaid' },
    { position: 8n, at: '2026-11-08T10:00:00.000Z', terms: 'prepaid' },
  ] as const
  const known = (asOf: bigint) => {
    const until = (position: number) => (row: Cells) => BigInt(row[position] ?? '') <= asOf
    return fileOf(
      [
        lines.filter(until(lineCell.position)),
        refunds.filter(until(refundCell.posted_position)),
        credits.filter(until(creditCell.position)),
      ],
      {
        filter: { asOf, tenantId: 'acme' as never },
        accountAt: (_tenant, to) =>
          Promise.resolve({
            ...account,
            termsChanges: termsChanges.filter(({ position }) => position <= to),
          }),
        balancesAt: (_tenant, position) =>
          Promise.resolve([{ currency: 'CNY', amount: owned(position) }]),
      },
    )
  }
  /** What the tenant owned: all that it was given less all that it used. */
  const owned = (position: bigint): string =>
    formatAmount(
      credits.reduce(
        (sum, row) =>
          BigInt(row[creditCell.position] ?? '') <= position
            ? sum + parseAmount(row[creditCell.amount] ?? '')
            : sum,
        position >= 4n ? parseAmount('2') : 0n,
      ) -
        lines.reduce(
          (sum, row) =>
            BigInt(row[lineCell.position] ?? '') <= position
              ? sum + parseAmount(facts.amount)
              : sum,
          0n,
        ),
    )
  const files = await Promise.all([1n, 4n, 5n, 7n, 8n, 10n].map(known))
  t.same(
    files.map((file) => formatAmount(sumOf('BilledCost', file) - sumOf('EffectiveCost', file))),
    [owned(1n), owned(4n), '0', '0', owned(8n), owned(10n)],
    'what is billed and not used yet is the balance of prepaid terms, and nothing of postpaid ones',
  )
  const [, before = [], , , , after = []] = files
  const text = (file: readonly FocusRow[]) => file.map((row) => JSON.stringify(row))
  t.same(
    text(before).filter((row) => !text(after).includes(row)),
    [],
    'later terms leave the rows of earlier positions',
  )
  t.same(
    after
      .filter((row) => row.ChargeDescription?.startsWith('balance') === true)
      .map((row) => [row.BilledCost, row.EffectiveCost, row.ChargePeriodStart]),
    [
      [owned(8n), '0', '2026-11-08T10:00:00Z'],
      [`-${owned(5n)}`, '0', '2026-11-05T10:00:00Z'],
    ],
  )
})

t.test(
  'balances of a change are of the time, the position and the currency of the file',
  async (t) => {
    const described = async (filter: Partial<Record<keyof typeof whole, unknown>>) =>
      (
        await fileOf([[], [], []], {
          filter: filter as object,
          accountAt: () =>
            Promise.resolve({
              ...account,
              termsChanges: [{ position: 5n, at: '2026-11-05T10:00:00.000Z', terms: 'postpaid' }],
            }),
          balancesAt: () =>
            Promise.resolve([
              { currency: 'CNY', amount: '7' },
              { currency: 'USD', amount: '0' },
            ]),
          tenants: async function* tenants() {
            yield 'acme'
          },
        })
      ).map((row) => `${row.BillingAccountId} ${row.BillingCurrency} ${row.BilledCost}`)
    const one = ['acme CNY -7']
    t.same(await described({}), one, 'of all tenants')
    t.same(await described({ tenantId: 'acme', currency: 'CNY', since: 4n }), one)
    t.same(
      await described({ fromMs: Date.parse('2026-11-05'), toMs: Date.parse('2026-11-06') }),
      one,
    )
    for (const filter of [
      { currency: 'USD' },
      { since: 5n },
      { toMs: Date.parse('2026-11-05') },
      { fromMs: Date.parse('2026-11-06') },
    ])
      t.same(await described(filter), [], JSON.stringify(Object.keys(filter)))
  },
)
