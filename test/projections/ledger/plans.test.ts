import type { QueryConfig } from 'pg'
import t from 'tap'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { createIndexes } from '../../../projections/engine/schema.ts'
import { prepareTables } from '../../../projections/engine/follower.ts'
import { inSchema } from '../../../projections/engine/transaction.ts'
import { ledgerProjection } from '../../../projections/ledger/projection.ts'
import {
  refundsOfLines,
  creditsByPrefix,
  linesById,
  linesByIds,
  listLines,
  MAX_SORTED_LINES,
  sortedLines,
  settledSource,
  usage,
  type LedgerFilter,
  type UsageKey,
  postedLineCell,
  postedLines,
  type Cells,
  type PostingPlace,
} from '../../../projections/ledger/query.ts'
import { TimeZone } from '../../../src/kernel/time-zone.ts'
import { billedLifeKinds } from '../../../src/domain/lives.ts'
import { type LivesFilter, livesIn } from '../../../projections/timeline/lives.ts'
import { repeatsIn } from '../../../projections/timeline/repeats.ts'
import { speedOf } from '../../../projections/timeline/speed.ts'
import { timelineProjection } from '../../../projections/timeline/projection.ts'
import {
  type FailureFilter,
  beginningsOf,
  failedRequests,
  historyOf,
  openingsNear,
  openingsOfRequests,
  sourcesByKey,
  sourcesByNote,
  sourcesByPrefix,
  sourcesByUpstreamRequest,
  summariesOf,
  tasksNaming,
} from '../../../projections/timeline/query.ts'
import { testPool } from '../support/database.ts'
import { everyFailure } from '../support/every-failure.ts'

/** A million has the same plans, and takes ten times as long to make: `LINES=1000000` looks at it. */
const LINES = Number(process.env['LINES'] ?? 100_000)
const START = '2026-01-01T00:00:00Z'
/** Lines that the sums by time do not have. */
const UNSUMMED = 30

/**
 * Lines of 100 tenants over months. One tenant has a third of them, of which a thousandth are
 * in USD, of a rare model and of a rare user: whoever asks for those must not walk the others.
 */
const linesSql = `
  insert into ledger.lines
  select n, 'task_' || n || ':1', timestamptz '${START}' + n * (interval '200 days' / ${LINES}), tenant,
         tenant || '_user_' || case when rare then 'rare' else (n % 20)::text end, 'token_' || n % 500,
         'task_' || n, 'native_' || n, 'provA.tasks', model, model || '-720p', 'rule', 1000, 'token',
         46, 1000000, case when rare then 'USD' else 'CNY' end, 0.046, '2026-01-01', 'reported',
         'req_' || n, n, null, null, null, ''
  from (select n, rare, case when n % 3 = 0 then 'tenant_big' else 'tenant_' || n % 100 end as tenant,
               case when rare then 'model-rare' else 'model-' || n % 7 end as model
        from (select n, n % 999 = 0 as rare from generate_series(1, ${LINES}) as n) as numbers) as facts`

const totalsSql = (
  [
    ['days', `(settled_at at time zone 'UTC')::date`],
    ['hours', `date_bin('1 hour', settled_at, timestamptz '2000-01-01T00:00Z')`],
    ['quarters', `date_bin('15 minutes', settled_at, timestamptz '2000-01-01T00:00Z')`],
  ] as const
)
  .map(
    ([table, begins]) => `
  insert into ledger.summed_${table}
  select tenant_id, ${begins}, currency, sku, unit, model, user_id,
         token_id, surface, count(*), count(*), sum(quantity), sum(amount)
  from ledger.lines where seq % 10 = 0 group by 1, 2, 3, 4, 5, 6, 7, 8, 9;`,
  )
  .join('')

const othersSql = `
  insert into ledger.adjustments
  select n, 'adj_' || n, 'tenant_big', 'CNY', 1, 'task_' || n || ':1', null, null, 'reason', 'actor', now()
  from generate_series(1, 5000) as n;
  insert into ledger.settlements
  select source_id, tenant_id, currency, amount, 1, position from ledger.lines where seq % 10 = 0;
  insert into timeline.sources
  select 'task_' || n, case when n % 3 = 0 then 'tenant_big' else 'tenant_' || n % 100 end, 'user', 'native_' || n, n from generate_series(1, 20000) as n`

/** Calls, of which a hundredth fails; a hundredth of all is a task, of which half fails. */
const eventsSql = `
  insert into timeline.events
  select n, tenant, tenant || '_user_' || n % 20, source, type, md5('e' || n)::uuid, 'stream', n,
         timestamptz '${START}' + n * (interval '200 days' / ${LINES}),
         json_build_object('tokenId', 'token_' || n % 500, 'model', 'model-' || n % 7,
           'surface', 'v1.chat', 'requestId', 'req_' || n, 'channelId', 'channel', 'code', 'unavailable',
           'message', 'no result', 'startedAt', '${START}', 'failedAt', '${START}'),
         json_build_object('correlationId', 'req_' || n)
  from (select n, case when n % 3 = 0 then 'tenant_big' else 'tenant_' || n % 100 end as tenant,
               case n % 100 when 1 then 'task_' || n when 2 then 'task_' || n - 1 else 'call_' || n end as source,
               case n % 100 when 0 then 'CallFailed' when 1 then 'TaskRequested'
                 when 2 then case when n % 200 = 2 then 'TaskFailed' else 'TaskSubmissionUncertain' end
                 else 'CallSettled' end as type
        from generate_series(1, ${LINES}) as n) as facts`

interface Plan {
  readonly 'Node Type': string
  readonly 'Index Name'?: string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows'?: number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Actual Loops'?: number
  readonly Plans?: readonly Plan[]
}

function* nodesOf(plan: Plan): Generator<Plan> {
  yield plan
  for (const inner of plan.Plans ?? []) yield* nodesOf(inner)
}

t.test('every query of finance and support uses an index, with any filter', async (t) => {
  const pool = await testPool(t)
  for (const projection of [ledgerProjection, timelineProjection])
    await prepareTables(pool, projection)
  await pool.query(
    'alter table ledger.lines set unlogged; alter table ledger.summed_days set unlogged',
  )
  await pool.query(linesSql)
  await pool.query(totalsSql)
  await pool.query(
    `update ledger.chain set seq = ${LINES}, summed = ${LINES - UNSUMMED}, unsummed_from =
       (select settled_at from ledger.lines where seq = ${LINES - UNSUMMED + 1})`,
  )
  await pool.query(othersSql)
  await pool.query(eventsSql)
  // A tenant has a hundredth of the rows: a small sample misjudges how many those are.
  await pool.query('alter table timeline.events alter column tenant_id set statistics 1000')
  for (const projection of [ledgerProjection, timelineProjection])
    await inSchema(pool, projection.name, (client) =>
      createIndexes(client, projection, projection.name),
    )

  /** The statements that a read sends, explained as they are run. */
  const explained = async (read: (db: Queryable) => Promise<unknown>) => {
    const plans: Plan[] = []
    await read({
      query: async (asked: QueryConfig | string, values?: readonly unknown[]) => {
        const statement =
          typeof asked === 'string' ? { text: asked, values: [...(values ?? [])] } : { ...asked }
        const { rows } = await pool.query<{ 'QUERY PLAN': readonly { Plan: Plan }[] }>({
          text: `explain (analyze, format json, timing off) ${statement.text}`,
          values: [...(statement.values ?? [])],
        })
        for (const { Plan: plan } of rows[0]?.['QUERY PLAN'] ?? []) plans.push(plan)
        // A name would bind the statement to its first plan.
        const { name: _name, ...unnamed } = statement as QueryConfig
        return pool.query(unnamed) as never
      },
    })
    const nodes = plans.flatMap((plan) => [...nodesOf(plan)])
    const touched = nodes
      .filter((node) => node['Relation Name'] === 'lines')
      .map((node) => {
        const rows = (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)
        return rows * (node['Actual Loops'] ?? 1)
      })
    return {
      indexes: nodes.flatMap((node) => node['Index Name'] ?? []),
      // The chain has one row.
      scanned: nodes.filter(
        (node) => node['Node Type'] === 'Seq Scan' && node['Relation Name'] !== 'chain',
      ),
      linesTouched: touched.reduce((sum, rows) => sum + rows, 0),
    }
  }

  const tenantId = 'tenant_big'
  const [fromMs, toMs] = [Date.parse('2026-03-01T10:00:00Z'), Date.parse('2026-03-20T12:00:00Z')]
  const lists: readonly (readonly [string, LedgerFilter])[] = [
    ['lines_time', {}],
    ['lines_tenant', { tenantId: 'tenant_5' }],
    ['lines_tenant', { tenantId: 'tenant_5', fromMs, toMs }],
    ['lines_sku', { tenantId, sku: 'model-rare-720p' }],
    ['lines_model', { tenantId, model: 'model-rare' }],
    ['lines_model', { tenantId, model: 'model-3', fromMs, toMs }],
    ['lines_currency', { tenantId, currency: 'USD' }],
    ['lines_user', { tenantId, userIds: ['tenant_big_user_rare'] }],
    ['lines_user', { userIds: ['tenant_big_user_rare'] }],
    ['lines_user', { tenantId, userIds: ['tenant_big_user_rare', 'tenant_big_user_3'] }],
    ['lines_user', { tenantId, userIds: ['tenant_big_user_3'], fromMs, toMs }],
    ['lines_source', { tenantId, sourceId: 'task_300' }],
  ]
  await t.test('lines', async (t) => {
    for (const [index, filter] of lists) {
      const what = JSON.stringify(filter)
      const first = await listLines(pool, filter, { limit: 20 })
      const pages = [undefined, ...(first.next === undefined ? [] : [first.next])]
      for (const after of pages) {
        const { indexes, scanned, linesTouched } = await explained((db) =>
          listLines(db, filter, { after, limit: 20 }),
        )
        t.ok(indexes.includes(index), `${what} by ${indexes.join()}`)
        t.same(scanned, [], what)
        t.ok(linesTouched < 400, `${what} reads ${linesTouched} lines`)
      }
      const page = { limit: 20 }
      const oldest = await explained((db) =>
        sortedLines(db, filter, { ...page, order: 'settled_at' }),
      )
      t.ok(oldest.indexes.includes(index), `${what}, oldest first, by ${oldest.indexes.join()}`)
      t.ok(oldest.linesTouched < 400, `${what}, oldest first, reads ${oldest.linesTouched} lines`)
      const byAmount = await explained((db) =>
        sortedLines(db, filter, { ...page, order: '-amount' }),
      )
      t.same([oldest.scanned, byAmount.scanned], [[], []], what)
      t.ok(byAmount.linesTouched <= MAX_SORTED_LINES + 400, `${what} by amount`)
    }
  })

  await t.test('postings of a month, a page after another and from a place on', async (t) => {
    const asOf = BigInt(LINES)
    const bounds = { tenantId, currency: 'CNY', fromMs, toMs, asOf, since: -1n }
    const second = async (db: Queryable, from?: PostingPlace): Promise<Cells | undefined> => {
      const pages = postedLines(db, bounds, { withEarlier: false, pageRows: 20, from })
      await pages.next()
      const { value } = await pages.next()
      await pages.return(undefined)
      return value?.[0]
    }
    const row = await second(pool)
    const of = (name: 'settled_at' | 'position'): string => row?.[postedLineCell[name]] ?? ''
    for (const from of [undefined, { at: of('settled_at'), position: of('position') }]) {
      const { indexes, scanned, linesTouched } = await explained((db) => second(db, from))
      // Most lines are of this tenant, so that both find them without passing many others.
      t.match(indexes.join(), /^lines_(?:currency|time),lines_(?:currency|time)$/)
      t.same(scanned, [])
      t.ok(linesTouched < 400, `${linesTouched} lines`)
    }
  })

  await t.test('summaries', async (t) => {
    const groupings: readonly UsageKey[] = ['sku', 'day', 'model', 'tenant']
    for (const groupBy of groupings) {
      const { indexes, scanned, linesTouched } = await explained((db) =>
        usage(db, {
          filter: { tenantId, fromMs, toMs },
          groupBy: [groupBy],
          withRefunds: true,
        }),
      )
      // Refunds are found by when they were posted, and their lines by their ids.
      t.same(
        [...new Set(indexes)].sort(),
        ['adjustments_posted', 'lines_id', 'lines_pkey', 'summed_days_pkey', 'summed_hours_pkey'],
        groupBy,
      )
      t.same(scanned, [], groupBy)
      t.ok(linesTouched <= UNSUMMED, `sums, and lines that are not in them: ${linesTouched}`)
    }
  })

  await t.test('receipts', async (t) => {
    const reads = [
      ['lines_id', (db: Queryable) => linesByIds(db, ['task_300:1'], 9_000n)],
      ['lines_source', (db: Queryable) => settledSource(db, 'task_300')],
      [
        'adjustments_line',
        (db: Queryable) => refundsOfLines(db, ['task_300:1'], { asOf: 9_000n, limit: 1_000 }),
      ],
    ] as const
    for (const [index, read] of reads) {
      const { indexes, scanned, linesTouched } = await explained(read)
      t.ok(indexes.includes(index), `${index} of ${indexes.join()}`)
      t.same(scanned, [], index)
      t.ok(linesTouched <= 1, `${index} reads ${linesTouched} lines`)
    }
  })

  await t.test('usage by days of a zone, as of a position', async (t) => {
    const days = TimeZone.named('Asia/Kolkata').daysBetween(fromMs, toMs)
    const filter = { tenantId, fromMs: fromMs + 1, toMs: toMs - 1, asOf: BigInt(LINES - 50) }
    const { indexes, scanned, linesTouched } = await explained((db) =>
      usage(db, { filter, groupBy: ['day', 'token'], periods: days }),
    )
    for (const index of ['summed_days_pkey', 'summed_hours_pkey', 'summed_quarters_pkey'])
      t.ok(indexes.includes(index), `${index} of ${indexes.join()}`)
    t.same(
      scanned.filter((node) => node['Relation Name'] === 'lines'),
      [],
    )
    t.ok(linesTouched < 400, `no line but at the ends and after the position: ${linesTouched}`)
  })

  await t.test('failures', async (t) => {
    const everything = everyFailure(BigInt(LINES))
    const filters: readonly (readonly [index: string, Partial<FailureFilter>])[] = [
      ['events_failures_time', {}],
      ['events_failures_time', { fromMs, toMs }],
      ['events_failures_time', { status: 'expired' }],
      ['events_failures', { tenantId }],
      ['events_failures', { tenantId: 'tenant_50', fromMs, toMs }],
      ['events_failures', { tenantId, tokenId: 'token_300' }],
      ['events_failures', { tenantId, code: 'none' }],
      ['events_failures', { tenantId, status: 'uncertain', model: 'model-3' }],
      ['events_failures', { tenantId, userIds: ['tenant_big_user_none'] }],
      ['events_request', { tenantId, requestId: 'req_300' }],
      ['events_request', { requestId: 'req_300' }],
    ]
    for (const [index, part] of filters) {
      const what = JSON.stringify(part)
      const filter = { ...everything, ...part }
      const { next } = await failedRequests(pool, filter, { after: undefined, limit: 20 })
      for (const after of [undefined, ...(next === undefined ? [] : [next])]) {
        const { indexes, scanned } = await explained((db) =>
          failedRequests(db, filter, { after, limit: 20 }),
        )
        t.ok(indexes.includes(index), `${what} by ${indexes.join()}`)
        t.same(scanned, [], what)
      }
    }
  })

  await t.test('search', async (t) => {
    const scopes = [{}, { tenantId: 'tenant_50' }, { tenantId, userIds: ['tenant_big_user_3'] }]
    const reads = (scope: (typeof scopes)[number]) => {
      const of = (all: string, owner: string) => (scope.tenantId === undefined ? all : owner)
      const by = (naming: 'source' | 'call' | 'nativeId' | 'task' | 'request', prefix: string) =>
        ((db) => sourcesByPrefix(db, { naming, prefix }, scope, 11)) satisfies (
          db: Queryable,
        ) => unknown
      return [
        [of('events_source', 'events_owner_call'), by('call', 'call_300')],
        [of('events_source', 'events_owner_call'), by('call', 'call_3')],
        [of('events_request', 'events_owner_request'), by('request', 'req_300')],
        [of('events_request', 'events_owner_request'), by('request', 'req_')],
        [of('sources_pkey', 'sources_owner'), by('source', 'task_300')],
        [of('sources_native', 'sources_owner_native'), by('nativeId', 'native_300')],
        [of('sources_native', 'sources_owner_native'), by('task', 'native_30')],
        ['events_key', (db: Queryable) => sourcesByKey(db, 'a hash', scope, 11)],
        ['events_source', (db: Queryable) => summariesOf(db, ['call_303', 'task_1'], scope)],
        [
          'events_time',
          (db: Queryable) =>
            sourcesByUpstreamRequest(db, { id: 'x', fromMs, toMs }, { tenantId, ...scope }, 11),
        ],
        ['lines_id', (db: Queryable) => linesById(db, 'task_300:1', scope)],
        [
          scope.tenantId === 'tenant_50' ? 'adjustments_tenant' : 'adjustments_id',
          (db: Queryable) => creditsByPrefix(db, 'adj_30', scope, 11),
        ],
      ] as const
    }
    for (const scope of scopes)
      for (const [index, read] of reads(scope)) {
        const what = `${JSON.stringify(scope)} ${read.toString()}`
        const { indexes, scanned } = await explained(read)
        t.ok(indexes.includes(index), `${what}: ${index} of ${indexes.join()}`)
        // The ledger of this test has no grants.
        const large = scanned.filter((node) => node['Relation Name'] !== 'grants')
        t.same(large, [], what)
      }
  })

  await t.test('lives of a tenant', async (t) => {
    const all: LivesFilter = {
      tenantId,
      userIds: undefined,
      tokenId: undefined,
      kinds: billedLifeKinds,
      fromMs,
      toMs,
      asOf: BigInt(LINES * 10),
      model: undefined,
      state: undefined,
      code: undefined,
      since: undefined,
    }
    const filters: readonly (readonly [index: string, Partial<LivesFilter>])[] = [
      ['events_time', {}],
      ['events_time', { kinds: ['task'] }],
      ['events_time', { userIds: ['tenant_big_user_3'] }],
      ['events_time', { tokenId: 'token_303' }],
      ['events_time', { tenantId: 'tenant_50', fromMs: undefined, toMs: undefined }],
      // The newest events of all are few.
      ['events_pkey', { since: BigInt(LINES - 10) }],
    ]
    for (const [index, part] of filters) {
      const filter = { ...all, ...part }
      const { indexes, scanned } = await explained((db) =>
        livesIn(db, filter, { after: undefined, limit: 50 }),
      )
      const what = `${index} of ${indexes.join()} for ${Object.keys(part).join()}`
      t.ok(indexes.includes(index), what)
      t.ok(indexes.includes('events_source'), what)
      t.same(scanned, [], what)
    }
  })

  await t.test('speed', async (t) => {
    const of = { userIds: undefined, model: undefined, surface: undefined, channelId: undefined }
    const asked = { ...of, fromMs, toMs, asOf: BigInt(LINES * 10) }
    for (const owner of [tenantId, undefined]) {
      const { indexes, scanned } = await explained((db) =>
        speedOf(
          db,
          { ...asked, tenantId: owner },
          { groups: new Set(['model', 'hour'] as const), zone: 'UTC', limit: 9 },
        ),
      )
      const index = owner === undefined ? 'events_sampled_time' : 'events_sampled'
      t.ok(indexes.includes(index), `${index} of ${indexes.join()}`)
      t.same(scanned, [], owner ?? 'all tenants')
    }
  })

  await t.test('what was charged twice', async (t) => {
    const of = { userIds: undefined, tokenId: undefined, model: undefined }
    const asked = { ...of, fromMs, toMs, asOf: BigInt(LINES * 10) }
    for (const owner of ['tenant_50', tenantId, undefined]) {
      const { indexes, scanned } = await explained((db) =>
        repeatsIn(db, { ...asked, tenantId: owner }, { after: undefined, limit: 50 }),
      )
      // The tenant with a third of all events is read by the order of all.
      const index = owner === 'tenant_50' ? 'events_tenant' : 'events_pkey'
      t.ok(indexes.includes(index), `${index} of ${indexes.join()}`)
      const times = owner === undefined ? 'events_sampled_time' : 'events_time'
      t.ok(indexes.includes(times), `${times} of ${indexes.join()}`)
      t.same(scanned, [], owner ?? 'all tenants')
    }
  })

  await t.test('notes by their words', async (t) => {
    for (const owner of [tenantId, undefined]) {
      const { indexes, scanned } = await explained((db) =>
        sourcesByNote(db, 'words', { tenantId: owner, isOperator: true }, 10),
      )
      t.ok(indexes.includes('events_notes'), indexes.join())
      t.same(scanned, [], owner ?? 'all tenants')
    }
  })

  await t.test('related lives', async (t) => {
    const near = { sourceId: 'call_303', atMs: fromMs, tokenId: 'token_303' }
    for (const userIds of [undefined, ['tenant_big_user_3']]) {
      const owner = { tenantId, userIds }
      const reads = [
        ['events_time', (db: Queryable) => openingsNear(db, owner, near, ['a fingerprint'])],
        ['events_owner_request', (db: Queryable) => openingsOfRequests(db, owner, ['req_300'])],
        // The tenant has most of these events: its newest are read by the order of all.
        ['events_pkey', (db: Queryable) => tasksNaming(db, owner, 'asset-1')],
        [
          'events_tenant',
          (db: Queryable) => tasksNaming(db, { ...owner, tenantId: 'tenant_50' }, 'asset-1'),
        ],
        ['sources_pkey', (db: Queryable) => beginningsOf(db, owner, ['task_300'])],
      ] as const
      for (const [index, read] of reads) {
        const { indexes, scanned } = await explained(read)
        t.ok(indexes.includes(index), `${index} of ${indexes.join()}`)
        t.same(scanned, [], index)
      }
    }
  })

  await t.test('history', async (t) => {
    const { indexes } = await explained((db) => historyOf(db, 'task_1', {}, { limit: 10 }))
    for (const index of ['sources_native', 'sources_pkey'])
      t.ok(indexes.includes(index), `${index} of ${indexes.join()}`)
  })

  await t.test(
    'pages of what was charged twice join, and look behind where they end',
    async (t) => {
      const first = LINES * 10
      const count = 17_001
      // Ten a second. Of five bodies two are the same at once, one comes again after five minutes, and one twice: first
      // for nothing. The log has JSON without spaces.
      await pool.query(
        `insert into timeline.events
       select ${first} + n, 'tenant_pages', 'user', 'call_p' || n, 'CallSettled', md5('p' || n)::uuid,
              'stream', n, timestamptz '${START}' + n * interval '100 ms',
              replace(json_build_object('tokenId', 'token_1', 'model', 'model-1', 'surface', 'v1.chat',
                'bodyFingerprint', case n % 5 when 2 then 'late' || n % 3000 when 3 then 'free' || n / 15
                  when 4 then 'once' || n else 'again' || n / 5 end,
                'settlement', json_build_object('currency', 'USD', 'amount',
                  case when n % 10 = 6 or n % 15 = 8 then '0' else '0.004' end))::text, '" : ', '":')::json,
              json_build_object('correlationId', 'req_p' || n), null
       from generate_series(1, ${count}) as n`,
      )
      const filter = {
        tenantId: 'tenant_pages',
        userIds: undefined,
        tokenId: undefined,
        model: undefined,
        fromMs: Date.parse(START) + 100_000,
        toMs: Date.parse(START) + count * 100,
        asOf: BigInt(first * 2),
      }
      const found: string[] = []
      let after: string | undefined
      let pages = 0
      do {
        const { items, next } = await repeatsIn(pool, filter, { after, limit: 1_000 })
        for (const { sourceId, earlier } of items) found.push(`${sourceId} ${earlier.sourceId}`)
        after = next
        pages += 1
      } while (after !== undefined)
      const earlierOf = (n: number): number | undefined => {
        if (n % 10 === 1) return n - 1
        if (n % 5 === 2) return n > 3_000 ? n - 3_000 : undefined
        return n % 15 === 13 ? n - 10 : undefined
      }
      const expected = Array.from({ length: count - 1 }, (_, n) => count - 1 - n).flatMap((n) => {
        const earlier = n < 1_000 ? undefined : earlierOf(n)
        return earlier === undefined ? [] : [`call_p${n} call_p${earlier}`]
      })
      t.same(found, expected, 'also where a page ends between the two')
      t.ok(pages > 2, `${pages} pages`)
    },
  )
})
