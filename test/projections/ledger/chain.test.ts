import { createHash } from 'node:crypto'
import t from 'tap'
import {
  canonicalBytes,
  chainHash,
  GENESIS,
  type LedgerLine,
} from '../../../projections/ledger/query.ts'
import { chained, NO_LINES } from '../../../src/app/audit/line-chain.ts'

const line: LedgerLine = {
  lineId: 'call_1:1',
  settledAt: '2026-03-04T05:06:07.001Z',
  tenantId: 'tenant_1',
  userId: 'user_1',
  tokenId: 'token_1',
  sourceId: 'call_1',
  nativeId: null,
  surface: 'v1.chat',
  model: 'text-basic',
  sku: 'text-basic-input-token',
  rule: 'text/chat/input',
  quantity: 9,
  unit: 'token',
  price: '0.5',
  per: 1_000_000,
  currency: 'USD',
  amount: '0.0000045',
  priceBookVersion: '2026-11-01',
  measurement: 'reported',
  requestId: 'req_1',
  position: 7n,
  accountPrices: null,
  tags: null,
  endUser: null,
}

/** What lines were hashed as before they could say which account prices they came of. */
const FIRST_BYTES =
  '["call_1:1","2026-03-04T05:06:07.001Z","tenant_1","user_1","token_1","call_1",null,"v1.chat",' +
  '"text-basic","text-basic-input-token","text/chat/input",9,"token","0.5",1000000,"USD",' +
  '"0.0000045","2026-11-01","reported","req_1","7"]'

/** The line as an auditor has it. */
const audited = {
  line_id: line.lineId,
  settled_at: line.settledAt,
  tenant_id: line.tenantId,
  user_id: line.userId,
  token_id: line.tokenId,
  source_id: line.sourceId,
  native_id: null,
  surface: line.surface,
  model: line.model,
  sku: line.sku,
  rule: line.rule,
  quantity: line.quantity,
  unit: line.unit,
  price: line.price,
  per: line.per,
  currency: line.currency,
  amount: line.amount,
  price_book_version: line.priceBookVersion,
  measurement: line.measurement,
  request_id: line.requestId,
  position: line.position,
}

t.test('a line at the list price keeps its hash of earlier releases', async (t) => {
  t.equal(canonicalBytes(line), FIRST_BYTES)
  const hash = createHash('sha256').update(GENESIS).update(FIRST_BYTES).digest('hex')
  t.equal(chainHash(GENESIS, line).toString('hex'), hash)
  for (const row of [audited, { ...audited, account_prices: null }])
    t.equal(chained(NO_LINES, row), hash)
})

t.test('the account prices of a line are part of its hash', async (t) => {
  const hashes = [1, 2].map((accountPrices) => {
    const hash = chainHash(GENESIS, { ...line, accountPrices }).toString('hex')
    // A row that stands has it as text, an expected one as a number.
    t.equal(chained(NO_LINES, { ...audited, account_prices: accountPrices }), hash)
    t.equal(chained(NO_LINES, { ...audited, account_prices: String(accountPrices) }), hash)
    return hash
  })
  t.equal(new Set([...hashes, chainHash(GENESIS, line).toString('hex')]).size, 3)
})

t.test('tags and the end user of a line are part of its hash, each where it is set', async (t) => {
  const labels = [
    { tags: '{"project":"apollo"}', endUser: null },
    { tags: null, endUser: 'ann' },
    { tags: '{"project":"apollo"}', endUser: 'ann' },
    { accountPrices: 2, tags: null, endUser: 'ann' },
    { accountPrices: null, tags: null, endUser: '{"project":"apollo"}' },
  ]
  const hashes = labels.map((each) => {
    const hash = chainHash(GENESIS, { ...line, ...each }).toString('hex')
    const { tags, endUser, accountPrices = null } = each
    const row = { ...audited, account_prices: accountPrices, tags, end_user: endUser }
    t.equal(chained(NO_LINES, row), hash)
    return hash
  })
  t.equal(new Set([...hashes, chainHash(GENESIS, line).toString('hex')]).size, 6)
})
