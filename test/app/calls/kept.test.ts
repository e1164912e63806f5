import t, { type Test } from 'tap'
import { defaultBreakerSettings } from '../../../src/app/channels/breaker.ts'
import { sandboxTextChannels, withTextSettings } from '../../helpers/sandbox-channels.ts'
import type { TextCallInput } from '../../../src/families/text/calls/types.ts'
import type { Channel } from '../../../src/app/ports/provider.ts'
import { isDomainError } from '../../../src/kernel/errors.ts'
import { TENANT } from '../support/world.ts'
import {
  collect,
  startTextWorld,
  textInput,
  type TextReplica,
  type TextWish,
} from './support/text-world.ts'

const OTHER_TENANT = 'tenant_other'
const world = await startTextWorld(t)
await world.tenant(OTHER_TENANT, '10000')
await world.settle()

/** Two accounts: what the one keeps, the other does not have. */
function account(id: string, over: Partial<Channel> = {}): Channel {
  const found = sandboxTextChannels({ baseUrl: world.sandbox.url, credential: `key-of-${id}` })
  const channel = found.find(({ family }) => family === 'responses')
  if (channel === undefined) throw new Error('no channel of responses')
  return { ...withTextSettings(channel, { vectorStores: [] }), id, ...over }
}
const one = account('one')
const two = account('two', { priority: 1 })
const first = await world.text({ channels: [one, two] })
/** Would rather use the other account. */
const turned = await world.text({ channels: [{ ...one, priority: 2 }, two] })

let marks = 0
const marker = () => `kept-${(marks += 1)}`
const ask = (wish: TextWish) => textInput({ ...wish, family: 'responses' })
const acceptedOf = async (mark: string) => {
  const [accepted, ...more] = await world.accepted(mark)
  if (accepted === undefined || more.length > 0) throw new Error(`not one call of ${mark}`)
  return accepted
}

/** A first answer, and what upstream calls it. */
async function answered(wish: TextWish = {}, { calls }: TextReplica = first) {
  const mark = marker()
  const prompt = `${wish.prompt ?? ''} [[client=${mark}]]`
  const { body } = await calls.complete(ask({ ...wish, prompt }))
  return { body, id: String(body['id']), upstream: await acceptedOf(mark) }
}

async function refused(t: Test, { calls }: TextReplica, input: TextCallInput) {
  const failures: object[] = []
  for (const run of [() => calls.complete(input), () => calls.stream(input)]) {
    const error: unknown = await run().catch((thrown: unknown) => thrown)
    if (!isDomainError(error)) throw new Error(`it was not refused: ${JSON.stringify(error)}`)
    const { callId: _callId, ...details } = error.details
    failures.push({ code: error.code, message: error.message, details })
  }
  t.same(failures[0], failures[1], 'streamed or not')
  return failures[0] as { code: string; message: string; details: Record<string, unknown> }
}

/** Refused, and nothing sent. */
async function refusedUnsent(t: Test, replica: TextReplica, wish: TextWish) {
  const requests = async () => (await fetch(`${world.sandbox.url}/__sandbox/requests`)).text()
  const before = await requests()
  const failure = await refused(t, replica, ask(wish))
  t.same(await requests(), before, 'nothing was sent')
  return failure
}

t.test('a response is continued under our id, at the account that keeps it', async (t) => {
  const begun = await answered()
  t.match(begun.id, /^resp_[\w-]{60,200}$/)
  t.not(begun.id, begun.upstream.id)
  t.notMatch(JSON.stringify(begun.body), begun.upstream.id)
  const mark = marker()
  const wish = { prompt: `[[client=${mark}]]`, body: { previous_response_id: begun.id } }
  const next = await turned.calls.complete(ask(wish))
  t.equal(next.body['previous_response_id'], begun.id)
  const accepted = await acceptedOf(mark)
  t.equal(accepted.credential, begun.upstream.credential, 'pinned, although the other is preferred')
  const { input_tokens: input } = accepted.usage
  t.ok(input > begun.upstream.usage.input_tokens + begun.upstream.usage.output_tokens)
  const sent = await fetch(`${world.sandbox.url}/__sandbox/log`).then((answer) => answer.text())
  t.ok(sent.includes(begun.upstream.id))
  t.notOk(sent.includes(begun.id), 'upstream never sees ours')
})

t.test('a stream names its response by one id in every event, never by upstream’s', async (t) => {
  const begun = await answered()
  const mark = marker()
  const prompt = `[[sandbox thoughts unknown-events]] [[client=${mark}]]`
  const body = { previous_response_id: begun.id }
  const { frames } = await first.calls.stream(ask({ prompt, body, model: 'text-reason' }))
  const seen = await collect(frames)
  t.equal(seen.error, undefined)
  const upstream = await acceptedOf(mark)
  const ids = new Set<unknown>()
  for (const { data } of seen.frames) {
    const { response } = JSON.parse(data) as { response?: Record<string, unknown> }
    if (response === undefined) continue
    ids.add(response['id'])
    t.equal(response['previous_response_id'], begun.id)
  }
  t.equal(ids.size, 1)
  const text = seen.frames.map(({ data }) => data).join('\n')
  for (const id of [upstream.id, begun.upstream.id]) t.notMatch(text, id)
  const items = [...text.matchAll(/"(?:item_id|id)":"(rs_[^"]+)"/g)].map(([, id]) => id)
  t.ok(items.length > 4, 'the reasoning is named in many events')
  t.equal(new Set(items).size, 1, 'always the same')
  const [id] = ids
  t.ok((await first.calls.complete(ask({ body: { previous_response_id: id } }))).body['id'])
})

t.test('the id of another caller’s response is not found', async (t) => {
  const begun = await answered()
  const foreign = await refusedUnsent(t, first, {
    tenantId: OTHER_TENANT,
    body: { previous_response_id: begun.id },
  })
  t.match(foreign, {
    code: 'previous_response_not_found',
    details: { param: 'previous_response_id' },
  })
  const others = ['resp_nothing', '', begun.upstream.id, `${begun.id}A`, begun.id.slice(1)]
  for (const previous_response_id of [...others, 'x'.repeat(10_000), 7, {}]) {
    const wish = { tenantId: OTHER_TENANT, body: { previous_response_id } }
    t.same(await refusedUnsent(t, first, wish), foreign)
    t.same(await refusedUnsent(t, first, { body: { previous_response_id } }), foreign)
  }
  // Upstream itself has forgotten it: no difference to be seen either.
  const unkept = await answered({ body: { store: false } })
  const gone = await refused(t, first, ask({ body: { previous_response_id: unkept.id } }))
  t.same(gone, foreign)
})

t.test('without the account that keeps it, a response is not continued elsewhere', async (t) => {
  const begun = await answered()
  const body = { previous_response_id: begun.id }
  const without = await world.text({ channels: [two] })
  t.match(await refusedUnsent(t, without, { body }), {
    code: 'kept_unavailable',
    details: { param: 'previous_response_id' },
  })
  const fragile = { ...defaultBreakerSettings, minimumFailures: 1, pauseMs: 60_000 }
  const broken = await world.text({ channels: [one, two], breaker: fragile })
  await t.rejects(broken.calls.complete(ask({ prompt: '[[sandbox http=500]]' })))
  t.equal(broken.deps.channels.health().find(({ id }) => id === 'one')?.breaker, 'open')
  t.equal((await refusedUnsent(t, broken, { body })).code, 'kept_unavailable')
  t.ok((await broken.calls.complete(ask({}))).body['id'], 'other calls go to the other account')

  const elsewhere = { 'text-cache': 'text-cache' }
  const { 'text-cache': _moved, ...rest } = one.models
  const parted = await world.text({
    channels: [
      { ...one, models: rest },
      { ...two, models: elsewhere },
    ],
  })
  t.match(await refusedUnsent(t, parted, { body, model: 'text-cache' }), {
    code: 'invalid_request',
    details: { param: 'previous_response_id' },
  })
})

const reasons = { model: 'text-reason' }

t.test('whole items are accepted as input; reasoning is found by its id alone', async (t) => {
  const begun = await answered(reasons)
  const [reasoning, message] = begun.body['output'] as readonly Record<string, unknown>[]
  t.match(reasoning, { type: 'reasoning', id: /^rs_[\w-]{40,}$/ })
  const input = (...items: unknown[]) => ({ ...reasons, body: { input: items } })
  const mark = marker()
  const asked = { role: 'user', content: `go on [[client=${mark}]]` }
  await turned.calls.complete(ask(input(reasoning, message, asked)))
  t.equal((await acceptedOf(mark)).credential, begun.upstream.credential, 'pinned by it')

  const foreign = await refusedUnsent(t, first, {
    ...input(asked, reasoning),
    tenantId: OTHER_TENANT,
  })
  t.match(foreign, { code: 'previous_response_not_found', details: { param: 'input[1].id' } })
  for (const id of ['rs_nothing', String(reasoning?.['id']).slice(0, -1), begun.id])
    t.same(await refusedUnsent(t, first, input(asked, { ...reasoning, id })), foreign)
})

t.test('items are referenced by the gateway’s ids, at the account that keeps them', async (t) => {
  const begun = await answered()
  const [message] = begun.body['output'] as readonly Record<string, unknown>[]
  t.match(message, { type: 'message', id: /^msg_[\w-]{40,}$/ })
  const id = String(message?.['id'])
  const input = (...items: unknown[]) => ({ body: { input: items } })
  for (const reference of [{ type: 'item_reference', id }, { id }]) {
    const mark = marker()
    const asked = { role: 'user', content: `go on [[client=${mark}]]` }
    await turned.calls.complete(ask(input(reference, asked)))
    t.equal((await acceptedOf(mark)).credential, begun.upstream.credential, 'pinned by it')
  }
  const asked = { role: 'user', content: 'go on' }
  const foreign = await refusedUnsent(t, first, {
    ...input(asked, { type: 'item_reference', id }),
    tenantId: OTHER_TENANT,
  })
  const unknown = await answered()
  t.match(foreign, {
    code: 'previous_response_not_found',
    message: (await refusedUnsent(t, first, { body: { previous_response_id: 'resp_none' } }))
      .message,
    details: { param: 'input[1].id' },
  })
  for (const other of ['msg_nothing', id.slice(0, -1), unknown.id, id.replace('msg_', 'fc_')])
    t.same(
      await refusedUnsent(t, first, input(asked, { type: 'item_reference', id: other })),
      foreign,
    )
  // If the request asked for it, upstream keeps nothing of the answer, and shows that by the form
  // of the id.
  const unkept = await answered({ body: { store: false } })
  const [gone] = unkept.body['output'] as readonly Record<string, unknown>[]
  const forgotten = { type: 'item_reference', id: gone?.['id'] }
  t.match(await refused(t, first, ask(input(forgotten))), {
    code: 'previous_response_not_found',
    message: foreign.message,
    details: { param: 'input' },
  })
})

t.test(
  'whole items need no account, and only the account that keeps them gets their ids',
  async (t) => {
    const begun = await answered()
    const [message] = begun.body['output'] as readonly Record<string, unknown>[]
    const elsewhere = await world.text({ channels: [two] })
    for (const [tenantId, replica] of [
      [TENANT, first],
      [TENANT, elsewhere],
      [OTHER_TENANT, first],
    ] as const) {
      const mark = marker()
      const asked = { role: 'user', content: `go on [[client=${mark}]]` }
      await replica.calls.complete(ask({ tenantId, body: { input: [message, asked] } }))
      const log = await fetch(`${world.sandbox.url}/__sandbox/log`).then((answer) => answer.text())
      const sent = log.split('\n').find((line) => line.includes(mark)) ?? log
      t.ok(log.includes(mark))
      if (tenantId === TENANT) t.notOk(sent.includes(String(message?.['id'])), 'ours is never sent')
    }
  },
)

t.test('reasoning with encrypted content needs no id', async (t) => {
  const body = { include: ['reasoning.encrypted_content'], store: false }
  const begun = await answered({ ...reasons, body })
  const [reasoning] = begun.body['output'] as readonly Record<string, unknown>[]
  t.match(reasoning, { type: 'reasoning', id: /^rs_/, encrypted_content: /\w/ })
  for (const [tenantId, replica] of [
    [TENANT, turned],
    [OTHER_TENANT, first],
    [TENANT, await world.text({ channels: [two] })],
  ] as const) {
    const mark = marker()
    const asked = { role: 'user', content: `go on [[client=${mark}]]` }
    await replica.calls.complete(ask({ ...reasons, tenantId, body: { input: [reasoning, asked] } }))
    const isPinned = (await acceptedOf(mark)).credential === begun.upstream.credential
    t.equal(isPinned, tenantId === OTHER_TENANT || replica === turned)
  }
  const thought = [{ type: 'reasoning_text', text: 'what was thought' }]
  const plain = { type: 'reasoning', id: 'rs_of_nobody', summary: [], content: thought }
  const input = [plain, { role: 'user', content: 'go on' }]
  t.ok((await first.calls.complete(ask({ body: { input } }))).body['id'])
})

t.test('responses kept at two accounts cannot be continued together', async (t) => {
  const here = await answered()
  const there = await answered(reasons, turned)
  const [reasoning] = there.body['output'] as readonly Record<string, unknown>[]
  const body = { previous_response_id: here.id, input: [reasoning] }
  t.match(await refusedUnsent(t, first, { ...reasons, body }), {
    code: 'invalid_request',
    details: { param: 'input[0].id' },
  })
})

t.test('a vector store is searched where the operator shares it, and nowhere else', async (t) => {
  const sharing = await world.text({
    channels: [
      one,
      withTextSettings(account('three', { priority: 5 }), { vectorStores: ['vs_a', 'vs_b'] }),
    ],
  })
  const search = (...ids: string[]) => ({
    body: { tools: [{ type: 'file_search', vector_store_ids: ids }] },
  })
  const mark = marker()
  await sharing.calls.complete(ask({ ...search('vs_b'), prompt: `[[client=${mark}]]` }))
  t.not((await acceptedOf(mark)).credential, (await answered()).upstream.credential)
  for (const ids of [['vs_c'], ['vs_a', 'vs_c'], ['*']])
    t.match(await refusedUnsent(t, sharing, search(...ids)), {
      code: 'invalid_request',
      details: { param: 'tools[0].vector_store_ids' },
    })
  t.match(await refusedUnsent(t, first, search('vs_a')), { code: 'invalid_request' })
})
