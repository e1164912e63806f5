import t from 'tap'
import { addUser, issueToken, openTenant } from '../../src/app/accounts/account-commands.ts'
import { grantCredit } from '../../src/app/accounts/credit.ts'
import { setIssuer } from '../../src/app/finance/statements/issuer.ts'
import { toTimestamp } from '../../src/kernel/clock.ts'
import { readTable } from '../helpers/csv.ts'
import { startStack } from '../helpers/stack.ts'
import { call } from './support/client.ts'
import { settlePastWeeks } from './support/past-weeks.ts'

/** A month of a tenant that was opened in it, closed over HTTP, with the files that come of it. */

const stack = await startStack({ env: { PUBLIC_BASE_URL: 'https://gateway.example' } })
t.teardown(() => stack.stop())
const { url, access, demo } = stack

const now = new Date()
const monthStart = (further: number): number =>
  Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + further, 1)
const month = toTimestamp(monthStart(-1)).slice(0, 7)
const running = toTimestamp(monthStart(0)).slice(0, 7)
const past = { ...access, clock: { nowMs: () => monthStart(-1) + 60_000 } }
const tenantId = 'acme'
await openTenant(past, { tenantId, name: 'Acme' })
await addUser(past, { tenantId, userId: 'ann', name: 'Ann' })
const ann = { tenantId, userId: 'ann' }
const { tokenId, secret: ownQuery } = await issueToken(past, {
  ...ann,
  kind: 'query',
  name: 'reports',
  scope: { level: 'all_users' },
})
const { secret: ofUser } = await issueToken(past, { ...ann, kind: 'query', name: 'mine' })
const { secret: administrator } = await issueToken(past, {
  ...ann,
  kind: 'admin',
  name: 'admin',
  scope: { level: 'all_users' },
})
const { secret: secondOperator } = await issueToken(access, {
  tenantId: stack.other.tenantId,
  userId: stack.other.userId,
  kind: 'admin',
  name: 'second',
})
const grant = { tenantId, currency: 'USD', amount: '1000', reason: 'bank transfer' } as const
await grantCredit(past, { ...grant, grantId: 'first', reference: 'INV-77' })
await settlePastWeeks(access.log, { ...ann, tokenId }, monthStart(0), 20)
await stack.caughtUp()

const query = (path: string, token = ownQuery) => call(`${url}/api/query/v1${path}`, { token })
const send = (method: string, path: string, body: object, token = demo.adminToken) =>
  call(`${url}/api/admin${path}`, {
    method,
    token,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
const close = (body: object, token?: string) =>
  send('POST', `/tenants/${tenantId}/periods`, { currency: 'USD', ...body }, token)
const codesOf = (blockers: readonly { readonly code: string }[]) => blockers.map(({ code }) => code)
const statement = `/periods/${month}/statement?currency=USD`

/** The answer with the postings of the month, and its lines. */
async function postingsOf(query = '') {
  const answer = await fetch(`${url}/api/query/v1/periods/${month}/postings?currency=USD${query}`, {
    headers: { authorization: `Bearer ${ownQuery}` },
  })
  return { answer, leaves: (await answer.text()).split('\n') }
}
let lineId = ''

t.test(
  '409 period_blocked names everything that holds a month up, with what ends it',
  async (t) => {
    const refused = await close({ month })
    t.match(refused, { status: 409, body: { error: { code: 'period_blocked', param: 'month' } } })
    const { blockers } = refused.body.error
    // In the first days of a month the grace hours of the one before still run.
    const lasting = codesOf(blockers).filter((code) => code !== 'grace_running')
    t.strictSame(lasting.toSorted(), ['audit_old', 'issuer_missing', 'profile_missing'])
    for (const { message, count, href } of blockers) {
      t.type(message, 'string')
      t.type(count, 'number')
      t.match(href, /^(?:\/console\/|tollgate )/)
    }
    const board = await query(`/periods?month=${month}`)
    t.equal(board.status, 200, board.text)
    t.match(board.body.data.items, [
      { tenant_id: tenantId, currency: 'USD', status: 'open', statement: null, closing: null },
    ])
    t.strictSame(
      codesOf(board.body.data.items[0].blockers).toSorted(),
      codesOf(blockers).toSorted(),
      'the board has the same blockers',
    )
  },
)

t.test(
  '404 period_not_found for the files of an open month, and 404 line_open for a proof',
  async (t) => {
    for (const path of [statement, `/periods/${month}/postings?currency=USD`])
      t.match(
        await query(path),
        { status: 404, body: { error: { code: 'period_not_found', param: 'month' } } },
        path,
      )
    const lines = await query('/ledger/lines?limit=1')
    lineId = lines.body.data.items[0].line_id
    t.match(await query(`/ledger/lines/${lineId}/proof`), {
      status: 404,
      body: { error: { code: 'line_open', param: 'line_id' } },
    })
    for (const id of ['call_none:1', 'no-number', ':1'])
      t.match(await query(`/ledger/lines/${id}/proof`), {
        status: 404,
        body: { error: { code: 'line_not_found', param: 'line_id' } },
      })
  },
)

t.test('a preview has the figures of an open month, and no number and no proof', async (t) => {
  const preview = await query(`${statement}&status=preview`)
  t.equal(preview.status, 200, preview.text)
  t.match(preview.body, { object: 'statement', status: 'preview', number: null, issuer: null })
  t.notOk('proof' in preview.body)
  t.match(preview.headers.get('content-disposition'), `preview_acme_USD_${month}.json`)
})

t.test('400, 403 and 404 name what a request for a month has wrong', async (t) => {
  const cases = [
    ['/periods', 400, 'month'],
    ['/periods?month=2026-13', 400, 'month'],
    ['/periods?month=1999-12', 400, 'month'],
    [`/periods/2026-1/statement?currency=USD`, 400, 'month'],
    [`/periods/${month}/statement`, 400, 'currency'],
    [`${statement}&format=xml`, 400, 'format'],
    [`${statement}&bom=true`, 400, 'bom'],
    [`${statement}&detail=users`, 400, 'detail'],
    [`${statement}&status=preview&credit_note=A-1`, 400, 'credit_note'],
    [`${statement}&status=preview&number=ACME-0001`, 400, 'number'],
    [`${statement}&tenant_id=other`, 403, 'tenant_id'],
  ] as const
  for (const [path, status, param] of cases)
    t.match(await query(path), { status, body: { error: { param } } }, path)
  t.match(await query(statement, ofUser), {
    status: 403,
    body: { error: { code: 'scope_denied' } },
  })
  const bodies = [
    [{ month: '2026-13' }, 'month'],
    [{ month, currency: 'EUR' }, 'currency'],
    [{ month, despite: ['books_differ'], reason: 'x' }, 'despite'],
    [{ month, despite: ['audit_old'] }, 'reason'],
    [{ month, reason: 'x' }, 'despite'],
  ] as const
  for (const [body, param] of bodies)
    t.match(await close(body), { status: 400, body: { error: { param } } }, JSON.stringify(body))
  t.match(await close({ month }, administrator), {
    status: 403,
    body: { error: { code: 'scope_denied' } },
  })
  t.match(await send('POST', '/tenants/nobody-here/periods', { month, currency: 'USD' }), {
    status: 404,
    body: { error: { code: 'tenant_not_found' } },
  })
})

t.test('a month without blockers but the audit is closed once, in spite of it', async (t) => {
  const profile = {
    legal_name: 'Acme Film GmbH',
    address: ['Torstr. 1', '10119 Berlin'],
    country: 'DE',
    number_prefix: 'ACME',
    grace_hours: 0,
  }
  t.equal((await send('PUT', `/tenants/${tenantId}/billing`, profile)).status, 200)
  const wanted = { legalName: 'Tollgate GmbH', address: ['Weg 2'], country: 'DE' }
  await setIssuer({ ...access, correlationId: 'test', actor: 'test' }, { wanted })
  await stack.caughtUp()
  const despite = { despite: ['audit_old'], reason: 'the audit runs tonight' }
  const closed = await close({ month, ...despite })
  t.equal(closed.status, 200, closed.text)
  t.match(closed.body.data, {
    object: 'period',
    month,
    tenant_id: tenantId,
    currency: 'USD',
    status: 'closed',
    statement: 'ACME-0001',
    from: toTimestamp(monthStart(-1)).replace('.000Z', ''),
    opening: '0',
    granted_paid: '1000',
    blockers: [],
    despite: { codes: ['audit_old'], reason: 'the audit runs tonight' },
    changed: true,
  })
  const again = await close({ month })
  t.match(again, { status: 200, body: { data: { statement: 'ACME-0001', changed: false } } })
  const board = await query(`/periods?tenant_id=${tenantId}&currency=USD`)
  t.match(board.body.data.items, [
    { month, status: 'closed', statement: 'ACME-0001' },
    { month: running, status: 'open' },
  ])
  t.match(await close({ month: running }), {
    status: 409,
    body: { error: { code: 'period_blocked' } },
  })
  const all = await query(`/periods?month=${month}&format=csv`)
  t.match(all.headers.get('content-disposition'), `periods-${month}`)
  const rows = readTable(all.text).filter((row) => row['tenant_id'] === tenantId)
  t.match(rows, [{ status: 'closed', statement: 'ACME-0001', closing: closed.body.data.closing }])
  const open = await query(`/periods?month=${running}&format=csv`)
  t.match(readTable(open.text)[0]?.['blockers'], /The month can be closed from /)
  const lines = (await query(`/periods?month=${month}&show=closed&format=ndjson`)).text.split('\n')
  t.same(
    lines.slice(0, -1).map((line) => JSON.parse(line).statement),
    ['ACME-0001'],
  )
  t.match(await query(`/periods?month=${month}&show=ready`), {
    status: 200,
    body: { data: { items: [] } },
  })
  t.match(await query('/periods?show=ready'), { status: 400, body: { error: { param: 'show' } } })
})

t.test(
  'the statement of a closed month is the same as JSON, HTML, CSV and PDF, and stays so',
  async (t) => {
    const json = await query(statement)
    t.equal(json.status, 200, json.text)
    t.match(json.headers.get('content-disposition'), `ACME-0001_acme_USD_${month}.json`)
    const { number, status, exact, opening, closing, rows, issuer, customer, proof } = json.body
    t.match(
      { number, status, issuer, customer },
      {
        number: 'ACME-0001',
        status: 'issued',
        issuer: { legal_name: 'Tollgate GmbH' },
        customer: { legal_name: 'Acme Film GmbH' },
      },
    )
    t.match(proof.checkpoint, `gateway.example/acme/USD/${month}/1`)
    const csv = readTable((await query(`${statement}&format=csv`)).text)
    t.same(
      csv.filter(({ amount }) => amount !== '').map(({ exact: one, amount }) => [one, amount]),
      [
        [exact.opening, opening],
        ...rows.map((row: Record<string, string>) => [row['exact'], row['shown']]),
        [exact.closing, closing],
      ],
    )
    const html = await query(`${statement}&format=html`)
    t.match(html.headers.get('content-type'), 'text/html')
    t.match(html.text, /ACME-0001[^]*Acme Film GmbH/)
    t.notMatch(html.text, 'Usage by user and model')
    const detailed = await query(`${statement}&format=html&detail=users`)
    const usage = await query(
      `/usage?group_by=user,model&from=${month}-01&to=${running}-01&currency=USD`,
    )
    t.equal(usage.body.data.items.length, 3, 'three models of one user')
    for (const { user_id: user, model, lines, amount } of usage.body.data.items) {
      const cells = [user, model, lines, amount].map((cell) => `<td[^>]*>${cell}</td>`)
      t.match(detailed.text, new RegExp(cells.join('\\s*')), `${user} ${model}`)
    }
    const authorization = { authorization: `Bearer ${ownQuery}` }
    const papers = await Promise.all(
      ['', '&detail=users'].map((detail) =>
        fetch(`${url}/api/query/v1${statement}&format=pdf${detail}`, { headers: authorization }),
      ),
    )
    for (const paper of papers) {
      t.equal(paper.headers.get('content-type'), 'application/pdf')
      t.match(paper.headers.get('content-disposition'), /"ACME-0001_acme_USD_.*\.pdf"/)
      t.match(Buffer.from(await paper.arrayBuffer()).toString('latin1'), /^%PDF-1\.7[^]*%%EOF\n$/)
    }
    t.equal((await query(statement)).text, json.text)
    t.match(await query(`${statement}&credit_note=ACME-0000-CN-${month}`), {
      status: 404,
      body: { error: { code: 'period_not_found' } },
    })
  },
)

t.test('the postings of a closed month begin with its close, and a line has a proof', async (t) => {
  const { answer, leaves } = await postingsOf()
  t.equal(answer.headers.get('content-type'), 'application/x-ndjson')
  const json = await query(statement)
  t.equal(leaves.at(-1), '', 'each ends with a newline')
  t.equal(leaves[0], json.body.proof.leaf)
  t.equal(leaves.length - 2, json.body.postings)
  const proof = await query(`/ledger/lines/${lineId}/proof`)
  t.match(proof.headers.get('content-type'), 'text/plain')
  t.match(proof.text, /^c2sp\.org\/tlog-proof@v1\nextra /)
  t.ok(proof.text.endsWith(json.body.proof.checkpoint), 'with the checkpoint of the statement')
})

t.test('202 with the number of accounts, when every account that is ready is closed', async (t) => {
  const { body, status } = await send('POST', '/periods', { month })
  t.equal(status, 202)
  t.match(body.data, { object: 'periods', month, closing: Number, blocked: Number })
  t.match(await send('POST', '/periods', { month }, administrator), { status: 403 })
})

t.test('a voided month says so in each of its files, until it is closed again', async (t) => {
  const before = await query(statement)
  const path = `/tenants/${tenantId}/periods/${month}/void`
  const proposal = { currency: 'USD', reason: 'a grant was forgotten' }
  const proposed = await send('POST', path, proposal)
  t.equal(proposed.status, 202, proposed.text)
  const board = await query(`/periods?month=${month}`)
  t.match(board.body.data.items, [{ status: 'closed', void_proposed: true }])
  const approved = await send('POST', `${path}/approve`, { currency: 'USD' }, secondOperator)
  t.equal(approved.status, 200, approved.text)
  await stack.caughtUp()

  const json = await query(statement)
  t.equal(json.text, before.text.replace('"issued"', '"voided"'), 'nothing else has changed')
  t.match((await query(`${statement}&format=html`)).text, /Void[^]*a grant was forgotten/)
  t.equal(readTable((await query(`${statement}&format=csv`)).text)[0]?.['status'], 'voided')
  t.match((await query(`/periods?month=${month}`)).body.data.items, [{ status: 'open' }])

  const closed = await close({ month, despite: ['audit_old'], reason: 'the audit runs tonight' })
  t.match(closed, { status: 200, body: { data: { statement: 'ACME-0002', changed: true } } })
  await stack.caughtUp()
  t.match((await query(statement)).body, { status: 'issued', number: 'ACME-0002' })

  const voided = await query(`${statement}&number=ACME-0001`)
  t.equal(voided.text, json.text, 'the void one is still there, by its number')
  t.match((await query(`${statement}&number=ACME-0001&format=html`)).text, /a grant was forgotten/)
  t.match((await postingsOf('&number=ACME-0001')).leaves[0], /"ACME-0001"/)
  t.match((await postingsOf()).leaves[0], /"ACME-0002"/)
  t.match(await query(`${statement}&number=ACME-0009`), {
    status: 404,
    body: { message: /has no such statement/, error: { code: 'period_not_found' } },
  })
})
