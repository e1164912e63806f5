import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { shell } from '../cli/support/tollgate.ts'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { blockOf, pointings, readPage } from './support/agent-page.ts'
import { turnOf, type Turn } from './support/agent-turns.ts'
import {
  type Agent,
  type AgentStep,
  readAgents,
  requestOf,
  startRecorder,
} from './support/agents.ts'
import { call, queriesOf } from './support/client.ts'
import { owed } from './support/text-owed.ts'

/** The requests of coding agents, sent in order over HTTP to a gateway before the simulated providers. */

const recorder = await startRecorder()
const stack = await startStack({ channels: recorder.through })
t.teardown(async () => {
  await stack.stop()
  await recorder.close()
})
const { url, demo, sandbox } = stack
const finance = queriesOf(url, demo.queryToken)
const agents = readAgents()

await call(`${url}/api/admin/tenants/${demo.tenantId}/reporting`, {
  method: 'PUT',
  token: demo.adminToken,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ tag_keys: ['session'], end_user: false }),
})

interface Line {
  readonly source_id: string
  readonly sku: string
  readonly quantity: number
  readonly measurement: string
  readonly tags: Readonly<Record<string, string>> | null
}

async function linesOf(query: string): Promise<readonly Line[]> {
  await stack.caughtUp()
  return (await finance.lines(`limit=100&${query}`)).body.data.items as readonly Line[]
}

const callsAfter = (seq: number) => sandbox.calls().filter((one) => one.seq > seq)
const lastSeq = () => sandbox.calls().at(-1)?.seq ?? 0

/** Hangs up once the answer has begun. */
async function leave(path: string, { headers, body }: ReturnType<typeof requestOf>): Promise<void> {
  const asked = request(`${url}${path}`, { method: 'POST', headers })
  asked.on('error', () => undefined)
  asked.end(body)
  const [answer] = await once(asked, 'response')
  await once(answer, 'data')
  asked.destroy()
}

interface Run {
  readonly agent: Agent
  readonly session: string
  readonly turns: Map<string, Turn>
}

async function checkRefused(t: Test, { path, answers }: AgentStep, text: string, before: number) {
  const { error } = JSON.parse(text)
  t.ok(error.message.includes(answers.says), error.message)
  if (path.startsWith('/v1/messages')) t.equal(error.type, 'invalid_request_error')
  t.same(callsAfter(before), [], 'nothing was accepted')
}

/** The lines of the only call since are what its provider's record owes, and have the session. */
async function checkBilled(t: Test, step: AgentStep, { session }: Run, before: number) {
  const [record, ...more] = callsAfter(before)
  t.same(more, [], 'one call')
  if (record === undefined) throw new Error('no call was accepted')
  const lines = await eventually(`lines of ${record.id}`, async () => {
    const found = (await linesOf(`tag=session:${session}`)).filter(
      ({ source_id }) => !seen.has(source_id),
    )
    return found.length > 0 ? found : undefined
  })
  for (const { source_id } of lines) seen.add(source_id)
  const billed = Object.fromEntries(lines.map(({ sku, quantity }) => [sku, quantity]))
  t.same(billed, owed(record), 'the lines are what the provider reported')
  for (const sku of step.answers.bills ?? []) t.ok(sku in billed, sku)
  for (const { measurement, tags } of lines)
    t.match({ measurement, tags }, { measurement: 'reported', tags: { session } })
}
const seen = new Set<string>()

/** Bodies of messages as the provider should get them: with its name of the model, and the bound that is held. */
const sent = new Set<string>()

function noteSent({ path }: AgentStep, body: string | undefined): void {
  if (path.startsWith('/v1/messages') && body !== undefined)
    sent.add(
      body
        .replace(/"model":"(text-\w+)"/, '"model":"$1-2026-01-15"')
        .replace('"max_tokens":32000', '"max_tokens":8192'),
    )
}

async function play(t: Test, step: AgentStep, run: Run): Promise<void> {
  const { path, method = 'POST', answers } = step
  const asked = requestOf(run.agent, step, { ...run, token: demo.modelToken })
  noteSent(step, asked.body)
  const before = lastSeq()
  if (step.leaves === true) {
    await leave(path, asked)
    return checkBilled(t, step, run, before)
  }
  const { headers, body = null } = asked
  const answer = await call(`${url}${path}`, { headers, body, method })
  t.equal(answer.status, answers.status, answer.text.slice(0, 300))
  if (answer.status === 400) return checkRefused(t, step, answer.text, before)
  if (method === 'GET')
    t.match(answer.body, { has_more: false, data: [{ type: 'model', id: /./ }] })
  if (answer.status !== 200 || step.body === undefined) return
  if (answers.counts !== undefined) {
    t.ok(answer.body[answers.counts] > 0, answer.text)
    t.equal(answer.headers.get('x-cost'), null)
    t.same(callsAfter(before), [], 'counting is no call')
    return
  }
  const turn = turnOf(path, answer)
  t.equal(turn.ends, answers.ends, 'the answer is whole')
  if (step.name !== undefined) run.turns.set(step.name, turn)
  await checkBilled(t, step, run, before)
}

t.test('each agent gets its answers, and each of its calls is settled as reported', async (t) => {
  t.same([...agents.keys()].toSorted(), [
    'aider',
    'claude-code',
    'cline',
    'codex',
    'gemini-cli',
    'opencode',
  ])
  for (const [name, agent] of agents)
    await t.test(agent.agent, async (t) => {
      const run = { agent, session: `session-of-${name}`, turns: new Map<string, Turn>() }
      for (const step of agent.steps) await t.test(step.does, (t) => play(t, step, run))
    })
})

t.test('the provider receives what an agent of messages wrote, and no name of its session', (t) => {
  const claude = agents.get('claude-code')
  const ofClaude = recorder.received.filter(
    ({ headers }) => headers['anthropic-beta'] === claude?.headers['anthropic-beta'],
  )
  t.ok(ofClaude.length >= 8, `${ofClaude.length} requests`)
  for (const { headers, text } of ofClaude) {
    t.equal(headers['anthropic-version'], '2023-06-01')
    t.equal(headers['anthropic-dangerous-direct-browser-access'], 'true')
    t.equal(headers['x-api-key'], 'sandbox')
    t.equal(headers['authorization'], undefined)
    t.notOk(JSON.stringify(headers).includes('session-of-'), 'no session')
    t.ok(sent.has(text), text.slice(0, 300))
  }
  const first = claude?.usual['/v1/messages']?.['system'] as readonly unknown[] | undefined
  t.equal(first?.length, 2)
  const systems = ofClaude.map(({ text }) => JSON.parse(text).system ?? [])
  t.ok(
    systems.filter(([one]) => JSON.stringify(one) === JSON.stringify(first?.[0])).length >= 6,
    'the first block of the system stays first',
  )
  t.end()
})

t.test('the lines of the page point each agent here, and show what a session cost', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-agents-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  await mkdir(join(folder, 'data'))
  const { modelToken: token, queryToken, adminToken } = demo
  await writeFile(
    join(folder, 'data', 'demo.json'),
    JSON.stringify({ modelToken: token, queryToken, adminToken }),
  )
  const page = readPage(url)
  for (const [name, agent] of agents) {
    const pointed = await pointings[name]?.({ page, folder, url, token })
    const step = agent.steps.find(({ body, name: as }) => body !== undefined && as !== undefined)
    if (pointed === undefined || step === undefined) throw new Error(`${name} is not on the page`)
    t.equal(pointed.address, `${url}${step.path}`, name)
    t.equal(pointed.token, token, name)
    const filling = { token: pointed.token, session: `of-the-page-of-${name}`, turns: new Map() }
    const { headers, body = '' } = requestOf(agent, step, filling)
    const members = {
      ...JSON.parse(body),
      ...(name === 'gemini-cli' ? {} : { model: pointed.model }),
    }
    const answer = await call(pointed.address, {
      method: 'POST',
      headers: { ...headers, ...pointed.headers },
      body: JSON.stringify(members),
    })
    t.equal(answer.status, 200, answer.text.slice(0, 300))
    t.equal(turnOf(step.path, answer).ends, step.answers.ends, name)
  }
  await stack.caughtUp()
  const { code, stdout } = await shell(
    `curl() { command curl --silent --show-error "$@"; echo; }\n${blockOf(page, 'What a session cost', 'sh')}`,
    folder,
  )
  t.equal(code, 0, stdout)
  const [set = '', usage = ''] = stdout.trim().split('\n')
  t.match(JSON.parse(set), { success: true, data: { tag_keys: ['session'] } })
  const { items } = JSON.parse(usage).data
  const cost = new Map<string, string>(
    items.map((item: Record<string, string>) => [item['tag:session'], item['amount']]),
  )
  for (const name of ['session-of-claude-code', 'of-the-page-of-codex', 'of-ann'])
    t.match(cost.get(name), /^0\.\d*[1-9]/, name)
})
