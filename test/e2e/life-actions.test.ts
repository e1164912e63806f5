import t from 'tap'
import { issueToken } from '../../src/app/accounts/account-commands.ts'
import { environmentOf, tollgate } from '../cli/support/commands.ts'
import { tollgateProcess } from '../cli/support/tollgate.ts'
import { startStack } from '../helpers/stack.ts'
import { type Answer, call, queriesOf, tasksOf } from './support/client.ts'

/** Notes and actions of support over HTTP and at a shell, on lost submissions. */

const stack = await startStack({
  sandbox: { queuedMs: 600_000 },
  channels: (channels) => channels.map((channel) => ({ ...channel, timeoutMs: 1_000 })),
})
t.teardown(() => stack.stop())
const { url, demo, other, access } = stack
const env = environmentOf(stack)
const second = await stack.replica()
const tasks = tasksOf(url, demo.modelToken)
const operatorQueries = await issueToken(access, {
  tenantId: demo.tenantId,
  userId: demo.userId,
  kind: 'query',
  name: 'operator',
  scope: { level: 'all_tenants' },
})
const tenantAdmin = await issueToken(access, {
  tenantId: demo.tenantId,
  userId: demo.userId,
  kind: 'admin',
  name: 'administrator of the tenant',
  scope: { level: 'all_users' },
})
const inside = queriesOf(url, operatorQueries.secret)
const outside = queriesOf(url, demo.queryToken)

const act = (
  id: string,
  action: string,
  body: object,
  { token = demo.adminToken, key, at = url }: { token?: string; key?: string; at?: string } = {},
): Promise<Answer> =>
  call(`${at}/api/admin/lives/${id}/${action}`, {
    method: 'POST',
    token,
    headers: { 'content-type': 'application/json', ...(key && { 'idempotency-key': key }) },
    body: JSON.stringify(body),
  })
const lost = async (): Promise<string> => {
  const answer = await tasks.create({ prompt: 'x [[sandbox hang]]' })
  if (answer.status !== 502) throw new Error(answer.text)
  return String(answer.headers.get('x-platform-id'))
}
const reason = 'The provider says that it has no such task.'
const lifeOf = async (queries: typeof inside, id: string) =>
  (await queries.get(`/lives/${id}`)).body.data
const titles = (life: { readonly steps: readonly { readonly title: string }[] }) =>
  life.steps.map(({ title }) => title)

t.test(
  'a note of an operator is in the life for operators, and nowhere for the tenant',
  async (t) => {
    const id = await lost()
    const text = 'Called the customer.\nShe waits: ticket 4711.'
    const posted = await act(id, 'notes', { text, note_id: 'inside-1' })
    t.match(posted, {
      status: 200,
      body: {
        success: true,
        data: { object: 'note', id: 'inside-1', about: id, action: null, text, changed: true },
      },
    })
    t.match((await act(id, 'notes', { text, note_id: 'inside-1' })).body.data, { changed: false })
    t.match(await act(id, 'notes', { text: 'Other.', note_id: 'inside-1' }), {
      status: 409,
      body: { message: 'another note has the id inside-1', error: { code: 'note_exists' } },
    })
    await act(id, 'notes', { text: 'Ours.', note_id: 'ours-1' }, { token: tenantAdmin.secret })

    const life = await lifeOf(inside, id)
    t.match(life.notes, [
      { id: 'inside-1', text, action: null, audience: 'operators', by: { user_id: demo.userId } },
      { id: 'ours-1', text: 'Ours.', audience: 'tenant' },
    ])
    t.same(titles(life).slice(-2), ['noted', 'noted'])
    const ticket = await inside.get(`/lives/${id}/ticket`)
    t.match(ticket.body.data.notes, [{ text }, { text: 'Ours.' }])
    t.notMatch(ticket.body.data.reply, /4711|Ours|noted/)

    const theirs = await lifeOf(outside, id)
    t.match(theirs.notes, [{ id: 'ours-1', text: 'Ours.' }])
    t.equal(theirs.notes.length, 1)
    for (const path of [
      `/lives/${id}`,
      `/lives/${id}/ticket`,
      `/receipts/${id}`,
      `/search?q=${id}`,
    ])
      t.notMatch((await outside.get(path)).text, /4711|inside-1/, path)
    const history = await outside.history(id)
    t.notMatch(history.text, /4711|inside-1/)
    t.match(history.text, /"Ours\."/)
    t.match((await inside.history(id)).text, /4711/)
    for (const { data } of [(await outside.get(`/search?q=${id}`)).body])
      t.match(data, { items: [{ id, state: 'uncertain' }] }, 'a note is no state')

    const foundBy = async (queries: typeof inside, words: string) =>
      (await queries.get(`/search?q=${encodeURIComponent(words)}`)).body.data.items
    for (const words of ['SHE waits', 'ticket called customer', '4711'])
      t.match(await foundBy(inside, words), [{ id, matched: words }], words)
    t.match(await foundBy(inside, 'ours.'), [{ id, summary: /, note “[^”]*ours\.”$/i }])
    t.notMatch((await foundBy(inside, id))[0].summary, /note/, 'what was found by its id')
    t.match(await foundBy(outside, 'ours.'), [{ id }])
    for (const words of ['She waits', 'ticket 4711', 'ours never'])
      t.same(await foundBy(outside, words), [], words)
    t.same(await foundBy(queriesOf(url, other.queryToken), 'ours.'), [], 'of another tenant')
    const own = await issueToken(access, {
      tenantId: demo.tenantId,
      userId: demo.userId,
      kind: 'query',
      name: 'one user',
      scope: { level: 'current_user' },
    })
    t.same((await lifeOf(queriesOf(url, own.secret), id)).notes, [], 'one user sees no note')
    t.same(await foundBy(queriesOf(url, own.secret), 'ours.'), [], 'or finds by one')
  },
)

t.test('a lost submission is given up once, by either of two replicas', async (t) => {
  const id = await lost()
  const held = async () => (await lifeOf(inside, id)).receipt.held
  t.not(await held(), '0')
  const refused = await act(id, 'give-up', { reason }, { token: tenantAdmin.secret, key: 'k' })
  t.match(refused, { status: 403, body: { error: { code: 'scope_denied' } } })
  t.match(await act(id, 'give-up', { reason }), {
    status: 400,
    body: { message: /Idempotency-Key header or note_id, so that a retry posts nothing twice/ },
  })
  t.match(await act(id, 'give-up', { reason, note_id: 'x' }, { key: 'k' }), {
    status: 400,
    body: { message: /not both/ },
  })
  const answers = await Promise.all(
    [url, second.url].map((at) => act(id, 'give-up', { reason }, { key: 'give up 1', at })),
  )
  t.same(
    answers.map(({ status }) => status),
    [200, 200],
  )
  t.equal(answers.filter(({ body }) => body.data.changed === true).length, 1)
  const again = await act(id, 'give-up', { reason }, { key: 'give up 1' })
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  t.match(await act(id, 'give-up', { reason: 'Other.' }, { key: 'give up 2' }), {
    status: 409,
    body: {
      message: 'the task is not given up: it has ended: it was given up before',
      error: { code: 'give_up_refused' },
    },
  })
  const life = await lifeOf(inside, id)
  t.match(life, { state: 'not_billed', receipt: { held: '0', amount: '0', lines: [] } })
  t.equal(life.notes.length, 1)
  t.same(titles(life).slice(-2), ['asked to give up', 'given up'])
  t.match(life.steps.at(-1), { by: 'operator', after: { held: '0', charged: '0' } })
  t.match((await tasks.get(id)).body, { status: 'failed', error: { code: 'given_up' } })
  t.match((await lifeOf(outside, id)).receipt.verdict, /the task was given up/)
})

t.test('what is no open task of unknown outcome is refused in words', async (t) => {
  const running = await tasks.create({ prompt: 'a boat' })
  const id = String(running.headers.get('x-platform-id'))
  const chat = await call(`${url}/v1/chat/completions`, {
    method: 'POST',
    token: demo.modelToken,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'text-basic', messages: [{ role: 'user', content: 'Hi' }] }),
  })
  const callId = String(chat.headers.get('x-call-id'))
  const given = { reason, note_id: 'refused-1' }
  t.match(await act(id, 'give-up', given), {
    status: 409,
    body: {
      message:
        /^the task is not given up: it is queued upstream, and ends by \d{4}-\S+ at the latest$/,
    },
  })
  t.match(await act(callId, 'give-up', given), {
    status: 409,
    body: { message: `${callId} is not a task but a call: only a task can be given up` },
  })
  t.match(await act(callId, 'poll', given), {
    status: 409,
    body: {
      message: `${callId} is not a task but a call: the provider can be asked about tasks only`,
      error: { code: 'poll_refused' },
    },
  })
  t.match(await act(callId, 'notes', { text: 'ok', note_id: 'of-a-call' }), { status: 200 })
  t.match((await lifeOf(inside, callId)).notes, [{ id: 'of-a-call' }])
  t.match(await act(running.body.id, 'poll', { reason, note_id: 'by-native-id' }), {
    status: 202,
    body: { data: { about: id, action: 'poll', changed: true } },
  })
  for (let n = 2; n <= 6; n += 1) await act(id, 'poll', { reason, note_id: `poll-${n}` })
  const seventh = await act(id, 'poll', { reason, note_id: 'poll-7' }, { at: second.url })
  t.match(seventh, { status: 429, body: { error: { code: 'rate_limited' } } })
  t.ok(Number(seventh.headers.get('retry-after')) > 0)
  const gone = await lost()
  await act(gone, 'give-up', { reason, note_id: 'gone' })
  t.match(await act(gone, 'poll', { reason, note_id: 'gone-poll' }), {
    status: 409,
    body: {
      message: `${gone} has ended (failed): the provider is not asked about it any more`,
      error: { code: 'task_ended' },
    },
  })
  for (const text of ['', 'x'.repeat(1_001), 'a\u0007'])
    t.match(await act(id, 'notes', { text, note_id: 'bad' }), { status: 400 })
})

t.test('a life of another tenant reads like a missing one', async (t) => {
  const id = await lost()
  const token = (
    await issueToken(access, {
      tenantId: other.tenantId,
      userId: other.userId,
      kind: 'admin',
      name: 'theirs',
      scope: { level: 'all_users' },
    })
  ).secret
  for (const action of ['notes', 'poll', 'give-up']) {
    const body = action === 'notes' ? { text: 'x', note_id: 'n' } : { reason: 'x', note_id: 'n' }
    const [theirs, missing] = [
      await act(id, action, body, { token }),
      await act('video_01JD0000000000000000000001', action, body, { token }),
    ]
    t.equal(theirs.text, missing.text, action)
    t.equal(theirs.status, missing.status)
    if (action !== 'give-up') t.equal(theirs.status, 404)
  }
})

t.test('the same at a shell, also after a kill between the note and its effect', async (t) => {
  const id = await lost()
  const noted = await tollgate(['note', id, 'from a shell', '--actor', 'sue'], env)
  t.equal(noted.code, 0, noted.stderr)
  t.match(noted.stdout, /posted: true/)
  t.match((await tollgate(['note', id, 'from a shell'], env)).stdout, /posted: false/)
  const asked = await tollgate(['poll', id, '--reason', reason], env)
  t.equal(asked.code, 0, asked.stderr)
  const args = ['give-up', id, '--reason', reason, '--json']
  const killed = await tollgateProcess(args, { ...env, TOLLGATE_CRASH_AT: 'note.before-give-up' })
  t.equal(killed.code, null, 'it was killed')
  t.equal((await lifeOf(inside, id)).state, 'unknown')
  const again = await tollgate(args, env)
  t.equal(again.code, 0, again.stderr)
  t.match(JSON.parse(again.stdout), { about: id, givenUp: true })
  t.match(JSON.parse((await tollgate(args, env)).stdout), { givenUp: false })
  const life = await lifeOf(inside, id)
  t.match(life, { state: 'not_billed', receipt: { held: '0' } })
  t.same(titles(life).slice(-4), ['noted', 'asked to look again', 'asked to give up', 'given up'])
  t.match(life.notes[0], { by: null, text: 'from a shell' })
  t.equal(life.steps.find(({ title }: { title: string }) => title === 'noted').actor, 'sue')
  for (const [command, message, status = 1] of [
    [['give-up', id, '--reason', 'another'], /it has ended: it was given up before/],
    [['poll', id, '--reason', reason], /has ended \(failed\)/],
    [['note', 'video_none', 'x'], /nothing was found for video_none/],
    [['note', id, ' '], /1 to 1000 printable characters/],
    [['note', id, 'x', '--note-id', '-'], /--note-id must have/, 2],
  ] as readonly (readonly [readonly string[], RegExp, number?])[]) {
    const { code, stderr } = await tollgate(command, env)
    t.equal(code, status, command.join(' '))
    t.match(stderr, message)
  }
  const replay = await tollgate(['replay', id], env)
  t.match(replay.stdout, /NotePosted/)
  const fromLog = await tollgate(['replay', id, '--from-log'], env)
  t.equal(fromLog.code, 0, fromLog.stderr)
  t.equal(fromLog.stdout, replay.stdout, 'the log alone has them too')
  t.match(
    (await tollgate(['replay', id, '--tenant', demo.tenantId], env)).stdout,
    /NotePosted/,
    'an operator who names the tenant sees them too',
  )
})
