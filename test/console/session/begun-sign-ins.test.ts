import t from 'tap'
import { BEGUN_FOR_MS, createBegunSignIns } from '../../../src/console/session/begun-sign-ins.ts'

const begun = { state: 's', nonce: 'n', verifier: 'v', next: '/console/failed' }

function kept(secret = 'one secret') {
  const clock = { at: 1_000, nowMs: () => clock.at }
  return { clock, ...createBegunSignIns(secret, clock, '/console') }
}

t.test('a begun sign-in is read back by every replica for ten minutes', (t) => {
  const { clock, write, read } = kept()
  const text = write(begun)
  t.match(text, /^[\w-]+\.[\w-]+$/, 'a cookie can hold it')
  t.same(read(text), begun)
  t.same(kept().read(text), begun, 'another replica')
  t.equal(kept('another secret').read(text), undefined)
  clock.at += BEGUN_FOR_MS - 1
  t.same(read(text), begun)
  clock.at += 1
  t.equal(read(text), undefined, 'after ten minutes')
  t.end()
})

t.test('nothing that was not written is read', (t) => {
  const { write, read } = kept()
  const [body = '', signature = ''] = write(begun).split('.')
  const other = Buffer.from(JSON.stringify({ ...begun, next: 'x', untilMs: 9e15 })).toString(
    'base64url',
  )
  for (const text of [
    '',
    '.',
    body,
    `${body}.`,
    `${other}.${signature}`,
    `${body}.${signature}x`,
    `${body}.${signature}.`,
    'x'.repeat(9_000),
  ])
    t.equal(read(text), undefined, text.slice(0, 60))
  t.same(
    read(write({ ...begun, next: `/console/find?q=${'x'.repeat(4_000)}` }))?.next,
    '/console',
    'a cookie is bounded',
  )
  t.end()
})
