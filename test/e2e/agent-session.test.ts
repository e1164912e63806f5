import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import type { CallView } from '../../infra/sandbox/calls/store.ts'
import { checkout } from '../helpers/checkout.ts'
import { openTestTenant, sharedStack } from '../helpers/stack.ts'
import { turnOf, type Turn } from './support/agent-turns.ts'
import { call, queriesOf } from './support/client.ts'
import { askConsole, signInToConsole } from './support/console.ts'

/**
 * A session of twenty turns with thinking, tools, context editing and caches. Its cost is added up here from what the
 * provider reported and from the price book's file, without the product's code.
 */

const TURNS = 20
const SESSION = '0b1c7e64-20a1-4d02-9c55-5e55101f20aa'

const { url, access, caughtUp, sandbox } = await sharedStack(t)
const tenant = await openTestTenant(access, 'of_an_agent')
const finance = queriesOf(url, tenant.queryToken)
const json = { 'content-type': 'application/json' }

await call(`${url}/api/admin/tenants/${tenant.tenantId}/reporting`, {
  method: 'PUT',
  token: tenant.adminToken,
  headers: json,
  body: JSON.stringify({ tag_keys: ['session'], end_user: false }),
})

interface Price {
  readonly sku: string
  readonly per: number
  readonly price: string
}

/** Millionths of a unit of currency by SKU, for so many units. */
const prices = new Map(
  (
    parse(readFileSync(new URL('infra/pricebook.yaml', checkout), 'utf8')) as {
      readonly prices: readonly Price[]
    }
  ).prices.map(({ sku, price, per }) => {
    const [whole = '0', fraction = ''] = price.split('.')
    return [sku, { per, millionths: BigInt(whole + fraction.padEnd(6, '0')) }] as const
  }),
)

/** Pico units of currency: a millionth of a millionth. */
function picoOf(model: string, unit: string, quantity: number): bigint {
  const found = prices.get(`${model}-${unit}-token`)
  if (found === undefined) throw new Error(`${unit} has no price`)
  return (BigInt(quantity) * found.millionths * 1_000_000n) / BigInt(found.per)
}

function costOf({ model, usage }: CallView): bigint {
  const { cache_write_5m_tokens: short, cache_write_1h_tokens: long } = usage
  const cached = usage.cached_input_tokens
  return (
    picoOf(model, 'input', usage.input_tokens - cached - short - long) +
    picoOf(model, 'cached-input', cached) +
    picoOf(model, 'cache-write-5m', short) +
    picoOf(model, 'cache-write-1h', long) +
    picoOf(model, 'output', usage.output_tokens)
  )
}

/** A decimal of the API in pico units. */
function picoIn(decimal: string): bigint {
  const [whole = '0', fraction = ''] = decimal.split('.')
  return BigInt(whole + fraction.padEnd(12, '0'))
}

const sumOf = (amounts: readonly bigint[]): bigint => amounts.reduce((sum, one) => sum + one, 0n)

const usual = {
  model: 'text-cache',
  max_tokens: 4_096,
  stream: true,
  thinking: { type: 'enabled', budget_tokens: 1_024 },
  system: [
    { type: 'text', text: 'x-agent: entrypoint=cli;' },
    {
      type: 'text',
      text: 'You write code. '.repeat(200),
      cache_control: { type: 'ephemeral', ttl: '1h' },
    },
  ],
  tools: [
    {
      name: 'Read',
      description: 'Reads a file',
      input_schema: {
        type: 'object',
        properties: { file_path: { type: 'string' } },
        required: ['file_path'],
      },
    },
  ],
  context_management: {
    edits: [
      {
        type: 'clear_tool_uses_20250919',
        trigger: { type: 'tool_uses', value: 8 },
        keep: { type: 'tool_uses', value: 4 },
      },
    ],
  },
}

interface Asked extends Turn {
  readonly id: string
  /** Uses of tools that the provider cleared. */
  readonly cleared: number
}

async function ask(messages: readonly unknown[]): Promise<Asked> {
  const answer = await call(`${url}/v1/messages?beta=true`, {
    method: 'POST',
    token: tenant.modelToken,
    headers: {
      ...json,
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'context-management-2025-06-27,extended-cache-ttl-2025-04-11',
      'x-claude-code-session-id': SESSION,
    },
    body: JSON.stringify({ ...usual, messages }),
  })
  if (answer.status !== 200) throw new Error(answer.text)
  return {
    ...turnOf('/v1/messages', answer),
    id: /"id":"(msg_\w{26})"/.exec(answer.text)?.[1] ?? '',
    cleared: Number(/"cleared_tool_uses":(\d+)/.exec(answer.text)?.[1] ?? 0),
  }
}

/** Twenty times a question, the use of a tool, its result and the answer. */
async function play(): Promise<readonly Asked[]> {
  const answers: Asked[] = []
  const messages: unknown[] = []
  for (let turn = 1; turn <= TURNS; turn += 1) {
    // A user does not say "[[sandbox …]]": the markers are no part of what is cached.
    const summary = turn === 12 ? ' compaction' : ''
    const marker = `[[sandbox tool=Read thoughts${summary}]][[client=${SESSION}]]`
    messages.push({ role: 'user', content: [{ type: 'text', text: `Turn ${turn} ${marker}` }] })
    const used = await ask(messages)
    messages.push(...used.said)
    messages.push({
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: used.tool,
          content: [{ type: 'text', text: `line ${turn} of a file ☀ `.repeat(60) }],
          cache_control: { type: 'ephemeral' },
        },
      ],
    })
    const answered = await ask(messages)
    messages.push(...answered.said)
    answers.push(used, answered)
  }
  return answers
}

const answers = await play()
await caughtUp()
const records = sandbox.calls({ client_marker: SESSION })
const owedPico = sumOf(records.map(costOf))

t.test('the session is what it should be: tools, thoughts, edits and every kind of cache', (t) => {
  t.equal(answers.length, 2 * TURNS)
  t.equal(records.length, answers.length)
  t.same(new Set(answers.map(({ ends }) => ends)), new Set(['tool_use', 'end_turn']))
  for (const { said, tool } of answers)
    t.match(said, [
      { content: [{ type: 'thinking', signature: /./ }, { type: tool ? 'tool_use' : 'text' }] },
    ])
  t.ok(answers.some(({ cleared }) => cleared > 0))
  const last = answers.at(-1)?.cleared ?? 0
  t.equal(last, TURNS - 4, 'all but the last four uses of tools are cleared')
  const of = (member: keyof CallView['usage']) => records.filter(({ usage }) => usage[member] > 0)
  for (const member of ['cached_input_tokens', 'cache_write_1h_tokens', 'output_tokens'] as const)
    t.ok(of(member).length > 10, member)
  t.ok(owedPico > 0n)
  t.end()
})

t.test('its receipts add up to what the provider reported at the prices of the book', async (t) => {
  const receipts: bigint[] = []
  for (const { id } of answers) {
    const { status, body, text } = await call(`${url}/v1/receipts/${id}`, {
      token: tenant.modelToken,
    })
    t.equal(status, 200, text.slice(0, 200))
    t.match(body, { state: 'settled', measurement: 'reported' })
    receipts.push(sumOf(body.lines.map(({ amount }: { amount: string }) => picoIn(amount))))
  }
  t.same(receipts, records.map(costOf), 'each of them')
  t.equal(sumOf(receipts), owedPico)
})

t.test('the ledger has the same sum, by its tag, in lines, totals and the balance', async (t) => {
  const lines: { readonly amount: string }[] = []
  for (let cursor = ''; ;) {
    const { data } = (await finance.lines(`tag=session:${SESSION}&limit=100${cursor}`)).body
    lines.push(...data.items)
    if (data.next_cursor === null) break
    cursor = `&cursor=${data.next_cursor}`
  }
  t.equal(sumOf(lines.map(({ amount }) => picoIn(amount))), owedPico)
  const { items } = (await finance.get('/usage?group_by=tag:session')).body.data
  t.equal(items.length, 1)
  t.match(items[0], { 'tag:session': SESSION, currency: 'USD', requests: 2 * TURNS })
  t.equal(picoIn(items[0].amount), owedPico)
  const [{ accounts }] = (await finance.get('/balance?currency=USD')).body.data.items
  t.equal(picoIn(accounts[0].settled), owedPico)
  t.equal(picoIn(accounts[0].held), 0n)
})

t.test(
  'support finds it by the id of any answer, and in the console by its tag as well',
  async (t) => {
    const cookie = await signInToConsole(url, tenant.queryToken)
    for (const { id } of [answers[0], answers[23], answers.at(-1)].flatMap((one) => one ?? [])) {
      const callId = id.replace('msg_', 'call_')
      const found = (await finance.get(`/search?q=${id}`)).body.data.items
      t.match(found, [{ kind: 'call', id: callId, state: 'settled' }])
      const { headers } = await askConsole(url, `/console/find?q=${id}`, { cookie })
      const life = headers.get('location') ?? ''
      t.match(life, callId)
      const page = await askConsole(url, life, { cookie })
      t.ok(page.status === 200 && page.text.includes(callId), life)
      const receipt = await finance.get(`/receipts/${id}`)
      t.match(receipt.body.data, { state: 'settled' })
    }
    const page = await askConsole(url, `/console/ledger/lines?tag=session:${SESSION}`, { cookie })
    t.equal(page.status, 200)
    t.ok(page.text.includes(String(answers.at(-1)?.id.replace('msg_', 'call_'))))
    const other = await askConsole(url, '/console/ledger/lines?tag=session:another', { cookie })
    t.equal(other.status, 200)
    t.notOk(other.text.includes('call_'))
  },
)
