import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { issueToken } from '../../src/app/accounts/account-commands.ts'
import { tollgate } from '../cli/support/commands.ts'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { type Answer, call, queriesOf } from './support/client.ts'
import { everySurface, isDone, type Priced, sendTo } from './support/every-surface.ts'

/** All that was sent upstream, heads and bodies, in lower case. */
const sentUpstream: string[] = []
let sandboxOrigin = ''

/** Stands between the gateway and the sandbox, and writes down what passes. */
const recorder = createServer((incoming, outgoing) => {
  const chunks: Buffer[] = []
  sentUpstream.push(incoming.rawHeaders.join('\n').toLowerCase())
  const { method, headers, url = '' } = incoming
  const sent = request(`${sandboxOrigin}${url}`, { method, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
    answer.pipe(outgoing)
  })
  sent.on('error', () => outgoing.destroy())
  incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
  incoming.on('end', () => sentUpstream.push(Buffer.concat(chunks).toString().toLowerCase()))
  incoming.pipe(sent)
})
await new Promise<void>((resolve) => recorder.listen(0, '127.0.0.1', resolve))
const { port } = recorder.address() as AddressInfo

const stack = await startStack({
  env: { OBJECT_STORAGE: 'local', PUBLIC_BASE_URL: 'https://gateway.example.com' },
  channels: (ours) =>
    ours.map((channel) => {
      const { origin, pathname } = new URL(channel.baseUrl)
      sandboxOrigin = origin
      return {
        ...channel,
        baseUrl: `http://127.0.0.1:${port}${pathname === '/' ? '' : pathname}`,
      }
    }),
})
t.teardown(async () => {
  await stack.stop()
  recorder.close()
  recorder.closeAllConnections()
})
const { url, demo, other } = stack
const finance = queriesOf(url, demo.queryToken)
const json = { 'content-type': 'application/json' }

const put = (tenantId: string, token: string, body: object) =>
  call(`${url}/api/admin/tenants/${tenantId}/reporting`, {
    method: 'PUT',
    token,
    headers: json,
    body: JSON.stringify(body),
  })

/** A command on the stores of the stack. */
const run = (...args: readonly string[]) =>
  tollgate(args, {
    EVENTSTORE_URL: stack.eventStoreUrl,
    DATABASE_URL: stack.databaseUrl,
    EVENTSTORE_NAMESPACE: stack.namespace,
    MARKER_SECRET: 'a marker secret of the tests alone',
  })

const chat = { model: 'text-basic', messages: [{ role: 'user', content: 'Hello' }] }
const send = (
  one: Pick<Priced, 'path' | 'body'>,
  headers: Readonly<Record<string, string>> = {},
  token = demo.modelToken,
): Promise<Answer> => sendTo(stack, one, headers, token)

interface Line {
  readonly source_id: string
  readonly surface: string
  readonly request_id: string
  readonly tags: Readonly<Record<string, string>> | null
  readonly end_user: string | null
}

/** Waits for the line of a request. */
async function lineOf(answer: Answer): Promise<Line> {
  const requestId = answer.headers.get('x-request-id') ?? ''
  for (let tries = 0; tries < 300; tries += 1) {
    const { items } = (await finance.lines(`request_id=${requestId}`)).body.data
    if (items.length > 0) return items[0] as Line
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error(`no line of ${requestId}`)
}

/** The events of the log that have something of a text. */
async function eventsWith(text: string): Promise<readonly string[]> {
  const found: string[] = []
  for await (const { type, data } of stack.access.log.readAll())
    if (JSON.stringify(data).includes(text)) found.push(type)
  return found
}

const declared = await put(demo.tenantId, demo.adminToken, {
  tag_keys: ['project', 'team'],
  end_user: true,
})
const requests = await everySurface(stack)
const HEADERS = {
  'x-tollgate-tags': 'team=search%20%26%20ads; undeclared=secret-of-header;project=%E9%A1%B9',
  'x-tollgate-end-user': 'b%C3%A9a',
}

t.test('a tenant declares its labels over HTTP and with the command', async (t) => {
  t.equal(declared.status, 200, declared.text)
  t.match(declared.body.data, {
    object: 'reporting',
    revision: 1,
    tag_keys: ['project', 'team'],
    end_user: true,
    changed: true,
  })
  const path = `${url}/api/admin/tenants/${demo.tenantId}/reporting`
  const shown = await call(path, { token: demo.adminToken })
  t.match(shown.body.data, { revision: 1, tag_keys: ['project', 'team'], end_user: true })
  const body = { tag_keys: ['project', 'team'], end_user: true }
  t.match((await put(demo.tenantId, demo.adminToken, body)).body.data, { changed: false })
  const stale = { tag_keys: [], end_user: true, expected_revision: 0 }
  const late = await put(demo.tenantId, demo.adminToken, stale)
  t.match([late.status, late.body.error?.code], [409, 'reporting_changed'])

  const { tenantId, userId } = demo
  const scope = { level: 'all_users' } as const
  const ours = { tenantId, userId, kind: 'admin', name: 'of the tenant', scope } as const
  const { secret } = await issueToken(stack.access, ours)
  const own = await put(tenantId, secret, body)
  t.match([own.status, own.body.data?.changed], [200, false], 'the tenant’s own administrator may')
  const foreign = await put(other.tenantId, secret, body)
  t.match([foreign.status, foreign.body.error?.code], [404, 'not_found'])

  const reporting = (...args: readonly string[]) =>
    run('reporting', ...args, '--tenant', other.tenantId)
  const set = await reporting('set', '--tags', 'team', '--end-user', 'no')
  t.equal(set.code, 0, set.stderr)
  t.match(set.stdout, /tags: team\nend users: not recorded/)
  t.match(JSON.parse((await reporting('show', '--json')).stdout), {
    tagKeys: ['team'],
    endUser: false,
  })
  t.equal((await reporting('set', '--tags', 'Bad')).code === 0, false)
})

t.test('every surface that costs something takes labels in headers', async (t) => {
  const sent = await Promise.all(requests.map((one) => send(one, HEADERS)))
  const seen = new Set<string>()
  for (const [index, answer] of sent.entries()) {
    const { surface = '', path = '' } = requests[index] ?? {}
    if (!t.ok(isDone(answer), `${path}: ${answer.status} ${answer.text.slice(0, 300)}`)) continue
    const line = await lineOf(answer)
    t.match(line, { surface, tags: { project: '项', team: 'search & ads' }, end_user: 'béa' }, path)
    t.same(Object.keys(line.tags ?? {}), ['project', 'team'])
    seen.add(line.surface)
  }
  const { body } = await call(`${url}/openapi.json`)
  const { parameters } = body.paths['/api/query/v1/ledger/lines'].get
  const named = parameters.find((one: { name: string }) => one.name === 'surface').schema.enum
  t.same([...seen].sort(), [...(named as string[])].sort(), 'every surface was asked')
  const heads = sentUpstream.join('\n')
  t.ok(heads.includes('paper boat'), 'the recorder saw what was sent')
  t.notMatch(heads, /x-tollgate|secret-of-header|search%20%26/)
  t.same(await eventsWith('secret-of-header'), [])
})

t.test('labels of a body, which goes upstream unchanged', async (t) => {
  const labelled = requests.filter(({ body, own }) => typeof body === 'function' || own)
  const check = async ({ body, own = {}, path, surface }: Priced): Promise<void> => {
    const isForm = typeof body === 'function'
    const answer = await send({ path, body: isForm ? body : { ...body, ...own } })
    if (!t.ok(isDone(answer), `${path}: ${answer.text.slice(0, 300)}`)) return
    const { tags, end_user: endUser } = await lineOf(answer)
    const isNamed = isForm || 'user' in own || 'safety_identifier' in own
    t.equal(endUser, isNamed ? 'ann' : null, surface)
    t.same(tags, 'metadata' in own || 'labels' in own ? { project: 'apollo' } : null, surface)
  }
  await Promise.all(labelled.map(check))
  t.ok(sentUpstream.join('\n').includes('secret-of-body'), 'metadata was passed on')
  t.same(await eventsWith('secret-of-body'), [])
})

t.test('a header replaces what the body has; odd values count as absent', async (t) => {
  const ask = (members: object, headers: Readonly<Record<string, string>> = {}) =>
    send({ path: '/v1/responses', body: { model: 'text-basic', input: 'Hi', ...members } }, headers)
  const labelsOf = async (answer: Answer) => {
    t.equal(answer.status, 200, answer.text)
    const { tags, end_user: endUser } = await lineOf(answer)
    return [tags, endUser]
  }
  const replaced = await ask(
    { metadata: { project: 'apollo' }, user: 'ann' },
    { 'x-tollgate-tags': 'team=x' },
  )
  t.same(await labelsOf(replaced), [{ team: 'x' }, 'ann'])
  const metadata = { project: 'p'.repeat(129), team: '𝒯'.repeat(128) }
  t.same(await labelsOf(await ask({ metadata })), [{ team: '𝒯'.repeat(128) }, null])
  const blank = { 'x-tollgate-tags': 'project=;team=a%00b', 'x-tollgate-end-user': '%0a' }
  t.same(await labelsOf(await ask({}, blank)), [null, null])
  await eventually('the lost labels are counted', async () => {
    const { text: metrics } = await call(`${url}/metrics`)
    return /^tollgate_tags_ignored_total 4$/m.test(metrics)
  })
})

const malformed = [
  '',
  'project',
  'project=a;',
  'a=1;a=2',
  'a=%zz',
  'a=b c',
  '=x',
  'a=é',
  'a=b, c=d',
]

t.test('a malformed header is 400 in the shape of every surface; nothing is sent', async (t) => {
  const before = sentUpstream.length
  const refused = async (t: Test, one: Priced, name: string, value: string) => {
    const answer = await send(one, { [name]: value })
    const isTold = answer.status === 400 || answer.body?.base_resp?.status_code === 2013
    t.ok(isTold, `${one.path} ${value}: ${answer.status} ${answer.text.slice(0, 200)}`)
    t.match(answer.text.toLowerCase(), name)
  }
  for (const one of requests) {
    await refused(t, one, 'x-tollgate-tags', 'project')
    await refused(t, one, 'x-tollgate-end-user', '%')
  }
  const [chat] = requests
  if (chat !== undefined)
    for (const value of malformed) await refused(t, chat, 'x-tollgate-tags', value)
  t.equal(sentUpstream.length, before)
})

t.test(
  'receipts, logs and files show labels; a tenant keeps none that it has not declared',
  async (t) => {
    const answer = await send({ path: '/v1/chat/completions', body: chat }, HEADERS)
    const shown = { tags: { project: '项', team: 'search & ads' }, end_user: 'béa' }
    const { source_id: id } = await lineOf(answer)
    t.match((await finance.get(`/receipts/${id}`)).body.data, shown)
    await stack.caughtUp()
    t.match((await finance.get(`/logs?task_id=${id}`)).body.data.items[0], shown)
    const told = await run('receipt', id)
    t.match(told.stdout, /tags +project=项, team=search & ads\nend user +béa\n/)
    const { text: csv } = await finance.lines(`source_id=${id}&format=csv`)
    const [head = '', row = ''] = csv.trimEnd().split(/\r?\n/)
    t.match(head, /,tags,end_user,/)
    t.match(row, /,"\{""project"":""项"",""team"":""search & ads""\}",béa,/)
    const filtered = await finance.lines(
      `tag=project:${encodeURIComponent('项')}&end_user=b%C3%A9a`,
    )
    t.ok(filtered.body.data.items.some((line: Line) => line.source_id === id))

    const marks = { 'x-tollgate-tags': 'project=of-nobody', 'x-tollgate-end-user': 'of-nobody' }
    const kept = await send({ path: '/v1/chat/completions', body: chat }, marks, other.modelToken)
    t.equal(kept.status, 200)
    await stack.caughtUp()
    t.same(await eventsWith('of-nobody'), [])
  },
)
