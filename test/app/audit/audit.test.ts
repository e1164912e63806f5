import t from 'tap'
import { chainHash, listLines } from '../../../projections/ledger/query.ts'
import { platformId } from '../../projections/support/history.ts'
import { assetId, groupId, verificationId } from '../../projections/support/library.ts'
import { startAudited, tampering } from './support/audited.ts'

const audited = await startAudited(t)
const { pool, log } = audited
await audited.engine.stop()

const changed = await tampering(t, audited)

/** One value of a row as it stands. */
async function value(sql: string): Promise<string> {
  const { rows } = await pool.query<{ value: string }>(sql)
  return String(rows[0]?.value)
}

t.test('read models that equal the log have no finding, every row compared', async (t) => {
  const report = await audited.audit()
  t.same(report.findings, [])
  const count = async (table: string): Promise<number> =>
    Number(await value(`select count(*) as value from ${table}`))
  t.match(report, {
    ok: true,
    notCompared: 0,
    resumedFrom: undefined,
    lines: await count('ledger.lines'),
    settledSources: await count('ledger.settlements'),
    balances: await count('ledger.balances'),
    tasks: await count('tasks.tasks'),
    timelineEvents: await count('timeline.events'),
    tenants: 2,
    tokens: 2,
    files: 3,
    uploads: 2,
    voices: 1,
    proposals: 3,
    assets: 44,
    assetGroups: 6,
    verifications: 5,
    priceBooks: 1,
  })
  t.equal(report.chain.lines, String(await count('ledger.lines')))
  t.equal(report.chain.head, await value(`select encode(hash, 'hex') as value from ledger.chain`))
  t.equal(report.chain.standing, report.chain.head)
  t.equal(report.chain.brokenAt, undefined)
})

const call = 'call_3'
const task = platformId(0)
const position = await value(
  `select position as value from ledger.settlements where source_id = '${call}'`,
)

/**
 * What was changed, the statement, and the one finding about it: where both values, or what follows from
 * a change, are worth seeing. `columns.test.ts` changes every column, and takes out, forges and moves rows.
 */
const cases: readonly (readonly [what: string, sql: string, finding: object])[] = [
  [
    'the amount of a line',
    `update ledger.lines set amount = amount + 1 where line_id = '${call}:1'`,
    {
      code: 'row_differs',
      table: 'ledger.lines',
      key: `${call}:1`,
      position,
      differences: [{ field: 'amount', log: '0.0004429', stands: '1.0004429' }],
      message: 'amount is 1.0004429, the log says 0.0004429',
    },
  ],
  [
    'a line moved to another tenant, with its daily total',
    `update ledger.lines set tenant_id = 'tenant_0' where line_id = '${call}:1'`,
    {
      code: 'row_differs',
      key: `${call}:1`,
      differences: [{ field: 'tenant_id', log: 'tenant_1', stands: 'tenant_0' }],
    },
  ],
  [
    'a line at another position',
    `update ledger.lines set position = 9000000000000 where line_id = '${call}:1'`,
    { code: 'row_differs', key: `${call}:1`, differences: [{ field: 'position', log: position }] },
  ],
  [
    'a line that is gone',
    `delete from ledger.lines where line_id = '${call}:1'`,
    { code: 'row_missing', table: 'ledger.lines', key: `${call}:1`, position },
  ],
  [
    'the last line gone',
    `delete from ledger.lines where seq = (select max(seq) from ledger.lines)`,
    { code: 'row_missing', table: 'ledger.lines', key: 'call_11:2' },
  ],
  [
    'a line without a settlement, in the midst of other lines',
    `insert into ledger.lines select (jsonb_populate_record(l, jsonb_build_object(
       'line_id', 'call_forged:1', 'source_id', 'call_forged', 'seq', 1000000))).*
     from ledger.lines l where line_id = '${call}:1'`,
    {
      code: 'row_unexplained',
      table: 'ledger.lines',
      key: 'call_forged:1',
      message:
        /nothing in the log accounts for the row: tenant_id tenant_1, sku gpt-x-input-token, .*amount 0.0004429/,
    },
  ],
  [
    'a line beyond the end of the log',
    `insert into ledger.lines select (jsonb_populate_record(l, jsonb_build_object(
       'line_id', 'call_forged:1', 'source_id', 'call_forged', 'seq', 1000000,
       'position', 9000000000000))).*
     from ledger.lines l where line_id = '${call}:1'`,
    { code: 'row_unexplained', table: 'ledger.lines', key: 'call_forged:1' },
  ],
  [
    'the reason of an adjustment',
    `update ledger.adjustments set reason = 'because' where tenant_id = 'tenant_1'`,
    {
      code: 'row_differs',
      table: 'ledger.adjustments',
      differences: [{ field: 'reason', stands: 'because' }],
    },
  ],
  [
    'an adjustment that is gone',
    `delete from ledger.adjustments where tenant_id = 'tenant_1'`,
    { code: 'row_missing', table: 'ledger.adjustments' },
  ],
  [
    'the hash of a line',
    `update ledger.lines set hash = decode(repeat('ab', 32), 'hex') where line_id = '${call}:1'`,
    {
      code: 'row_differs',
      table: 'ledger.lines',
      key: `${call}:1`,
      differences: [{ field: 'hash', log: /^[0-9a-f]{64}$/, stands: 'ab'.repeat(32) }],
    },
  ],
  [
    'the head of the chain',
    `update ledger.chain set hash = decode(repeat('cd', 32), 'hex')`,
    { code: 'row_differs', table: 'ledger.chain', differences: [{ field: 'hash' }] },
  ],
  [
    'a settlement',
    `update ledger.settlements set amount = 5 where source_id = '${call}'`,
    {
      code: 'row_differs',
      table: 'ledger.settlements',
      key: call,
      differences: [{ field: 'amount', stands: '5' }],
    },
  ],
  [
    'an entry',
    `update ledger.entries set amount = amount + 1 where source_id = '${call}'`,
    { code: 'row_differs', table: 'ledger.entries', key: `${call} settled` },
  ],
  [
    'an entry that is gone',
    `delete from ledger.entries where source_id = '${task}' and kind = 'hold_placed'`,
    { code: 'row_missing', table: 'ledger.entries', key: `${task} hold_placed` },
  ],
  [
    'a hold',
    `update ledger.holds set amount = 1, state = 'placed' where source_id = '${task}'`,
    {
      code: 'row_differs',
      table: 'ledger.holds',
      key: task,
      differences: [
        { field: 'amount', log: '10.5', stands: '1' },
        { field: 'state', log: 'captured', stands: 'placed' },
      ],
    },
  ],
  [
    'a hold that is gone',
    `delete from ledger.holds where source_id = '${task}'`,
    { code: 'row_missing', table: 'ledger.holds', key: task },
  ],
  [
    'a hold of no task',
    `insert into ledger.holds
     values ('video_forged', 'tenant_0', 'CNY', 5, 'placed', now(), null, 1)`,
    { code: 'row_unexplained', table: 'ledger.holds', key: 'video_forged' },
  ],
  [
    'a balance',
    `update ledger.balances set granted = granted + 1
     where tenant_id = 'tenant_0' and currency = 'CNY'`,
    {
      code: 'row_differs',
      table: 'ledger.balances',
      key: 'tenant_0 CNY',
      differences: [{ field: 'granted', log: '10000', stands: '10001' }],
    },
  ],
  [
    'a balance that is gone',
    `delete from ledger.balances where tenant_id = 'tenant_0' and currency = 'CNY'`,
    { code: 'row_missing', table: 'ledger.balances', key: 'tenant_0 CNY' },
  ],
  [
    'a balance of an unknown tenant',
    `insert into ledger.balances values ('tenant_nobody', 'USD', 7, 0, 0, 0, 0, 0, 0, 1)`,
    { code: 'row_unexplained', table: 'ledger.balances', key: 'tenant_nobody USD' },
  ],
  [
    'a daily total',
    `update ledger.summed_days set quantity = quantity + 1
     where tenant_id = 'tenant_1' and sku = 'gpt-x-output-token' and token_id = 'tok_3'`,
    {
      code: 'row_differs',
      table: 'ledger.days',
      key: /^tenant_1 2026-03-04 USD gpt-x-output-token/,
      differences: [{ field: 'quantity', log: '7', stands: '8' }],
    },
  ],
  [
    'the total of an hour',
    `update ledger.summed_hours set lines = lines + 1
     where tenant_id = 'tenant_1' and sku = 'gpt-x-output-token' and token_id = 'tok_3'`,
    {
      code: 'row_differs',
      table: 'ledger.hours',
      key: /^tenant_1 2026-03-04T05:00 USD gpt-x-output-token/,
      differences: [{ field: 'lines', log: '1', stands: '2' }],
    },
  ],
  [
    'the total of a quarter of an hour that is gone',
    `delete from ledger.summed_quarters
     where tenant_id = 'tenant_1' and sku = 'gpt-x-output-token' and token_id = 'tok_3'`,
    { code: 'row_differs', table: 'ledger.quarters', key: /^tenant_1 2026-03-04T05:00 USD/ },
  ],
  [
    'the time of a grant',
    `update ledger.grants set granted_at = granted_at + interval '1 day' where tenant_id = 'tenant_1'`,
    { code: 'row_differs', table: 'ledger.grants', differences: [{ field: 'granted_at' }] },
  ],
  [
    'a grant that is gone',
    `delete from ledger.grants where tenant_id = 'tenant_1'`,
    { code: 'row_missing', table: 'ledger.grants' },
  ],
  [
    'a daily total of a tenant without lines',
    `insert into ledger.summed_days values ('tenant_x', '2026-03-04', 'USD', 's', 'u', 'm', 'u', 't', 'f', 1, 1, 1, 1)`,
    { code: 'row_differs', table: 'ledger.days', key: /^tenant_x/ },
  ],
  [
    'a line and its daily total, in agreement with each other: both are named',
    `update ledger.lines set quantity = quantity + 1 where line_id = '${call}:2';
     update ledger.summed_days d set quantity = d.quantity + 1 from ledger.lines l
     where l.line_id = '${call}:2' and d.tenant_id = l.tenant_id and d.sku = l.sku
       and d.token_id = l.token_id`,
    { code: 'row_differs', table: 'ledger.lines', key: `${call}:2` },
  ],
  [
    'the status of a task',
    `update tasks.tasks set status = 'failed' where platform_id = '${task}'`,
    {
      code: 'row_differs',
      table: 'tasks.tasks',
      key: task,
      differences: [{ field: 'status', log: 'succeeded', stands: 'failed' }],
      message: 'status is failed, the log says succeeded',
    },
  ],
  [
    'the output and the usage of a task',
    `update tasks.tasks set output = jsonb_set(output, '{seed}', '99'), usage = usage - 'total_tokens'
     where platform_id = '${task}'`,
    {
      code: 'row_differs',
      table: 'tasks.tasks',
      differences: [
        { field: 'output.seed', log: '0', stands: '99' },
        { field: 'usage.total_tokens', log: '1000', stands: null },
      ],
    },
  ],
  [
    'a task at another place of its list',
    `update tasks.tasks set seq = 5000 where platform_id = '${task}'`,
    {
      code: 'row_differs',
      table: 'tasks.tasks',
      differences: [{ field: 'seq', stands: '5000' }],
    },
  ],
  [
    'a count',
    `update tasks.counts set n = n + 1 where level = 2 and status = 'queued' and scope_id = 0
       and model = (select min(model) from tasks.counts
                    where level = 2 and status = 'queued' and scope_id = 0)`,
    { code: 'row_differs', table: 'tasks.counts', key: /^scope 0 level 2 bucket 0 queued/ },
  ],
  [
    'the total of a surface',
    `update ledger.totals set amount = amount + 1 where kind = 'settled' and currency = 'USD'`,
    {
      code: 'row_differs',
      table: 'ledger.totals',
      key: 'settled USD openai.chat',
      differences: [{ field: 'amount' }],
    },
  ],
  [
    'the number of placed holds',
    `update ledger.totals set n = n + 1 where kind = 'held'`,
    { code: 'row_differs', table: 'ledger.totals', key: 'held CNY', differences: [{ field: 'n' }] },
  ],
  [
    'the total of an account that is gone',
    `delete from ledger.totals where kind = 'account' and currency = 'USD' and part = 'revenue'`,
    { code: 'row_differs', table: 'ledger.totals', key: 'account USD revenue' },
  ],
  [
    'a count of many tasks',
    `update tasks.counts set n = n + 1 where level = 1 and status = 'queued' and scope_id = 0
       and model = (select min(model) from tasks.counts
                    where level = 1 and status = 'queued' and scope_id = 0)`,
    { code: 'row_differs', table: 'tasks.counts', key: /^scope 0 level 1 bucket 0 queued/ },
  ],
  [
    'a count of a list as a whole',
    `update tasks.counts set n = n + 1 where level = 0 and status = 'queued' and scope_id = 0
       and model = (select min(model) from tasks.counts
                    where level = 0 and status = 'queued' and scope_id = 0)`,
    { code: 'row_differs', table: 'tasks.counts', key: /^scope 0 level 0 bucket 0 queued/ },
  ],
  [
    'the number of tasks of a list',
    `update tasks.scopes set next_seq = next_seq + 1 where scope_id = 0`,
    { code: 'row_differs', table: 'tasks.scopes', differences: [{ field: 'next_seq' }] },
  ],
  [
    'the data of an event of the timeline',
    `update timeline.events
     set data = jsonb_set(data::jsonb, '{settlement,lines,0,amount}', '"9.99"') where position = ${position}`,
    {
      code: 'row_differs',
      table: 'timeline.events',
      position,
      differences: [{ field: 'data.settlement.lines[0].amount', log: '0.0004429', stands: '9.99' }],
    },
  ],
  [
    'the tenant and the time of an event of the timeline',
    `update timeline.events set tenant_id = 'tenant_x', at = at + interval '1 hour'
     where source_id = '${task}' and type = 'TaskStatusChanged'`,
    {
      code: 'row_differs',
      table: 'timeline.events',
      key: /^TaskStatusChanged task-video_/,
      differences: [{ field: 'tenant_id', log: 'tenant_0', stands: 'tenant_x' }, { field: 'at' }],
    },
  ],
  [
    'the native id of a task, in the timeline',
    `update timeline.sources set native_id = 'cgt-other' where source_id = '${task}'`,
    {
      code: 'row_differs',
      table: 'timeline.sources',
      differences: [{ field: 'native_id', log: 'cgt-0', stands: 'cgt-other' }],
    },
  ],
  [
    'the place of a line in the chain',
    `update ledger.lines set seq = 1000000 where line_id = '${call}:1'`,
    {
      code: 'row_differs',
      table: 'ledger.lines',
      key: `${call}:1`,
      differences: [{ field: 'seq', stands: '1000000' }],
    },
  ],
  [
    'a count with a time before that of its rows',
    `update assets.counts set position = 0 where tenant_id = 'tenant_0' and kind = 'asset'
       and group_id = '' and status = 'Active' and region = 'domestic' and project_name = 'other'`,
    {
      code: 'row_differs',
      table: 'assets.counts',
      differences: [{ field: 'position', stands: '0' }],
    },
  ],
  ...['tok_tenant_1', 'file-1', '4503599627370491', verificationId(5), groupId(3)].map(
    (source) =>
      [
        `the native id of ${source}, in the timeline`,
        `update timeline.sources set native_id = 'other' where source_id = '${source}'`,
        {
          code: 'row_differs',
          table: 'timeline.sources',
          key: source,
          differences: [{ field: 'native_id', stands: 'other' }],
        },
      ] as const,
  ),
  [
    'a price',
    `update prices.entries set price = 1 where sku = 'gpt-x-input-token'`,
    {
      code: 'row_differs',
      table: 'prices.entries',
      differences: [{ field: 'price', log: '4.3', stands: '1' }],
    },
  ],
  [
    'a voice with the data of its first clone',
    `update voices.voices set request_id = 'req_voice_2'`,
    {
      code: 'row_differs',
      table: 'voices.voices',
      key: 'tenant_1/MyVoice_001',
      differences: [{ field: 'request_id', log: 'req_voice_3', stands: 'req_voice_2' }],
    },
  ],
  [
    'the state of an asset',
    `update assets.assets set state = 'active' where asset_id = '${assetId(8)}'`,
    {
      code: 'row_differs',
      table: 'assets.assets',
      key: assetId(8),
      differences: [{ field: 'state', log: 'failed', stands: 'active' }],
    },
  ],
  [
    'a verification confirmed in the table only',
    `update assets.verifications set state = 'confirmed' where verification_id = '${verificationId(5)}'`,
    {
      code: 'row_differs',
      table: 'assets.verifications',
      key: verificationId(5),
      differences: [{ field: 'state', log: 'started', stands: 'confirmed' }],
    },
  ],
  [
    'the number of assets of a list',
    `update assets.counts set n = n + 1 where tenant_id = 'tenant_0' and kind = 'asset'
       and group_id = '' and status = 'Active' and region = 'domestic' and project_name = 'other'`,
    {
      code: 'row_differs',
      table: 'assets.counts',
      key: 'tenant_0 AIGC  asset  domestic other Active',
      differences: [{ field: 'n', log: '1', stands: '2' }],
    },
  ],
  [
    'a count of a tenant without assets',
    `insert into assets.counts values ('tenant_x', 'AIGC', '', 'group', '', 'domestic', 'p', '', 1, 1)`,
    { code: 'row_differs', table: 'assets.counts', key: 'tenant_x AIGC  group  domestic p ' },
  ],
  [
    'the native id of an asset, in the timeline',
    `update timeline.sources set native_id = 'other' where source_id = '${assetId(2)}'`,
    {
      code: 'row_differs',
      table: 'timeline.sources',
      key: assetId(2),
      differences: [{ field: 'native_id', log: 'native-asset-2', stands: 'other' }],
    },
  ],
  [
    'the tenant of an event of an asset, in the timeline',
    `update timeline.events set tenant_id = 'tenant_x'
     where source_id = '${assetId(2)}' and type = 'AssetAccepted'`,
    {
      code: 'row_differs',
      table: 'timeline.events',
      differences: [{ field: 'tenant_id', log: 'tenant_0', stands: 'tenant_x' }],
    },
  ],
]

for (const [what, sql, finding] of cases)
  t.test(`one finding, with both values: ${what}`, async (t) => {
    const { ok, findings, findingsInAll } = await changed(sql)
    t.notOk(ok)
    t.match(findings[0], finding)
    const wanted = what.includes('both are named') ? 2 : 1
    t.equal(findingsInAll, wanted, JSON.stringify(findings))
  })

/** Everything the ledger has of a settlement taken out, as if it had never come. */
const lost = `
  update ledger.balances b set settled = b.settled - s.amount
  from ledger.settlements s
  where s.source_id = '${call}' and b.tenant_id = s.tenant_id and b.currency = s.currency;
  update ledger.summed_days d set requests = d.requests - case when l.line_id like '%:1' then 1 else 0 end,
                           lines = d.lines - 1, quantity = d.quantity - l.quantity,
                           amount = d.amount - l.amount
  from ledger.lines l where l.source_id = '${call}' and d.tenant_id = l.tenant_id
    and d.sku = l.sku and d.token_id = l.token_id;
  delete from ledger.lines where source_id = '${call}';
  delete from ledger.settlements where source_id = '${call}';
  delete from ledger.entries where source_id = '${call}'`

t.test('a settlement missing from the ledger is one finding', async (t) => {
  const { findings, findingsInAll } = await changed(lost)
  t.match(findings, [{ code: 'event_not_applied', table: 'ledger', key: call, position }])
  t.match(findings[0]?.message, /CallSettled: 2 line\(s\), 0.0005269 USD of tenant_1/)
  t.equal(findingsInAll, 1, JSON.stringify(findings))
})

t.test('a broken chain is one finding, however many lines follow', async (t) => {
  const { rows } = await pool.query<{ seq: string }>(
    `select seq from ledger.lines where source_id = '${call}' order by seq`,
  )
  // As a ledger that lost the settlement goes on: every later line is chained to the one before.
  const { items } = await listLines(pool, {}, { limit: 500 })
  const later = items
    .filter((line) => BigInt(line.seq) > BigInt(rows.at(-1)?.seq ?? 0))
    .sort((a, b) => Number(BigInt(a.seq) - BigInt(b.seq)))
  t.ok(later.length > 3, `${later.length} lines follow`)
  const before = await pool.query<{ hash: Buffer }>(
    'select hash from ledger.lines where seq = $1',
    [BigInt(rows[0]?.seq ?? 0) - 1n],
  )
  let hash = before.rows[0]?.hash ?? Buffer.alloc(32)
  let sql = lost
  for (const { seq, settledAtMs, position: at, hash: _, ...line } of later) {
    const settledAt = new Date(settledAtMs).toISOString()
    hash = chainHash(hash, { ...line, settledAt, position: BigInt(at) })
    sql += `; update ledger.lines set seq = ${seq} - 2, hash = '\\x${hash.toString('hex')}' where seq = ${seq}`
  }
  sql += `; update ledger.chain set seq = seq - 2, hash = '\\x${hash.toString('hex')}'`
  const { findings, findingsInAll, chain } = await changed(sql)
  t.match(findings, [{ code: 'event_not_applied', key: call }])
  t.equal(findingsInAll, 1, JSON.stringify(findings))
  t.equal(chain.brokenAt, position)
  t.equal(chain.standing, hash.toString('hex'))
  t.not(chain.head, chain.standing)
})

t.test('restored read models have no finding', async (t) => {
  t.same((await audited.audit()).findings, [])
  t.ok(await log.endPosition())
})
