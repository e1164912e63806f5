import * as fc from 'fast-check'
import t from 'tap'
import { createKeptIds } from '../../../../src/families/text/calls/kept-ids.ts'
import type { KeptKind } from '../../../../src/families/text/ports.ts'

const ids = createKeptIds('a secret')
const kept = { channelId: 'channel-one', upstreamId: `resp_${'0123456789abcdef'.repeat(3)}` }
const own = ids.seal('tenant_1', 'response', kept)

t.test('a kept id opens to its account and upstream id, on any replica', async (t) => {
  t.same(createKeptIds('a secret').open('tenant_1', 'response', own), kept)
  t.equal(createKeptIds('a secret').seal('tenant_1', 'response', kept), own, 'the same each time')
  t.match(own, /^resp_[A-Za-z0-9_-]+$/)
  t.ok(own.length < 200, `${own.length} characters`)
})

t.test('a kept id opens for no other tenant, kind or secret', async (t) => {
  t.equal(ids.open('tenant_2', 'response', own), undefined)
  t.equal(ids.open('tenant_1', 'item', own), undefined)
  t.equal(createKeptIds('another secret').open('tenant_1', 'response', own), undefined)
  t.not(ids.seal('tenant_2', 'response', kept), own)
})

t.test('a kept id reveals neither account nor upstream id', async (t) => {
  const bytes = Buffer.from(own.slice('resp_'.length), 'base64url').toString('latin1')
  for (const secret of [kept.channelId, kept.upstreamId, 'resp_', 'tenant_1'])
    t.notOk(bytes.includes(secret), secret)
})

t.test('a forged or foreign text does not open', async (t) => {
  for (let at = 0; at < own.length; at += 1)
    for (const letter of ['A', 'B', 'Q', 'w', '_', '=', '+', 'é']) {
      const forged = own.slice(0, at) + letter + own.slice(at + 1)
      if (forged !== own) t.equal(ids.open('tenant_1', 'response', forged), undefined, forged)
    }
  const others = ['', 'resp_', 'resp_A', kept.upstreamId, own.slice(0, -1), `${own}A`, `${own}=`]
  for (const text of [...others, ` ${own}`, own.toUpperCase(), `resp_${'A'.repeat(100_000)}`])
    t.equal(ids.open('tenant_1', 'response', text), undefined, text.slice(0, 40))
})

t.test('any channel and upstream id is opened unchanged', async (t) => {
  const kind = fc.constantFrom<KeptKind>('response', 'item')
  const channelId = fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,63}$/)
  const upstreamId = fc.string({ minLength: 1, maxLength: 256, unit: 'grapheme-ascii' })
  fc.assert(
    fc.property(fc.string(), kind, channelId, upstreamId, (tenant, of, channel, upstream) => {
      const sealed = ids.seal(tenant, of, { channelId: channel, upstreamId: upstream })
      const opened = ids.open(tenant, of, sealed)
      return opened?.channelId === channel && opened.upstreamId === upstream
    }),
  )
  const endless = ids.seal('tenant_1', 'response', { channelId: 'c', upstreamId: 'x'.repeat(1e6) })
  t.ok(endless.length < 500, 'and its length is bounded')
})

t.test('an id from before conversation lengths still opens', (t) => {
  const before = 'resp_0RH_XpEShBtf3rJGBj3HMeIvr7RDYMC3LMz35xz_FAY_fA'
  t.same(ids.open('tenant_1', 'response', before), {
    channelId: 'channel-one',
    upstreamId: 'resp_1',
  })
  t.end()
})

t.test('an id from before calls were in it still opens', (t) => {
  const before = 'resp_av1LDjQeIGobrDZ1pupSH9lek-OX_yeDIDurhK6ejnvrJxgWfo1wMw'
  t.same(ids.open('tenant_1', 'response', before), {
    channelId: 'channel-one',
    upstreamId: 'resp_1',
    tokens: 900,
  })
  t.end()
})

t.test('an id of a response carries the call that made it, for its tenant alone', (t) => {
  const made = { ...kept, tokens: 900, callId: 'call_01JD0000000000000000000002' }
  const sealed = ids.seal('tenant_1', 'response', made)
  t.same(ids.open('tenant_1', 'response', sealed), made)
  t.equal(ids.open('tenant_2', 'response', sealed), undefined)
  const { callId: _odd, ...without } = made
  const odd = ids.seal('tenant_1', 'response', { ...made, callId: 'call_~x' })
  t.same(ids.open('tenant_1', 'response', odd), without, 'what is no id of a call is left out')
  t.end()
})

t.test('an id carries its input tokens and its answer', (t) => {
  fc.assert(
    fc.property(fc.nat(), fc.string({ unit: 'grapheme-ascii', maxLength: 256 }), (tokens, name) => {
      const one = { channelId: 'channel-one', upstreamId: `resp_${name}`.slice(0, 256), tokens }
      return ids.open('t', 'response', ids.seal('t', 'response', one))?.tokens === tokens
    }),
  )
  const whole = { ...kept, tokens: 12, answer: '0a1b2c3d' }
  t.same(ids.open('tenant_1', 'item', ids.seal('tenant_1', 'item', whole)), whole)
  t.end()
})

t.test('within a call one object has one name', async (t) => {
  const previous = { upstreamId: 'resp_before', id: 'resp_ours' }
  const callId = 'call_01JD0000000000000000000002'
  const bounds = { conversationTokens: 900, outputTokens: 100, previous, callId }
  const name = ids.namer('tenant_1', kept.channelId, bounds)
  const first = name('response', kept.upstreamId)
  t.equal(name('response', kept.upstreamId, 7), first, 'also once its usage is known')
  t.same(ids.open('tenant_1', 'response', first), { ...kept, tokens: 900, callId })
  t.equal(name('response', 'resp_before'), 'resp_ours', 'as the caller named it')
  t.equal(ids.open('tenant_1', 'response', name('response', 'resp_x', 7))?.tokens, 7)
  const [one, other] = ['msg_1', 'msg_2'].map((id) =>
    ids.open('tenant_1', 'item', name('item', id)),
  )
  t.equal(one?.tokens, 100)
  t.equal(one?.callId, undefined, 'items are no answers')
  t.equal(one?.answer, other?.answer, 'items of one answer are known to be')
})

t.test('an item keeps a valid prefix of upstream, and opens under no other prefix', async (t) => {
  for (const [upstreamId, begins] of [
    ['fc_0123', /^fc_/],
    ['msg_0123', /^msg_/],
    ['0123', /^item_/],
    ['Fc_0123', /^item_/],
  ] as const) {
    const one = { channelId: 'channel-one', upstreamId }
    const sealed = ids.seal('tenant_1', 'item', one)
    t.match(sealed, begins)
    t.same(ids.open('tenant_1', 'item', sealed), one)
    t.equal(ids.open('tenant_1', 'item', sealed.replace(/^[a-z]+/, 'rs')), undefined)
  }
})
