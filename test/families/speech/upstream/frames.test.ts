import t from 'tap'
import { speechFrameReader } from '../../../../src/families/speech/upstream/client.ts'

const SOUND = 'ab'.repeat(1_000)
/** Digits at both ends, something else between. */
const BROKEN = `${SOUND}zz${SOUND}`

const read = (form: 'json' | 'audio', audio: string) => {
  const reader = speechFrameReader((text) => text, { form, requestId: 'req_1' })
  return reader.read({ event: undefined, data: JSON.stringify({ data: { audio, status: 1 } }) })
}

const caught = (act: () => unknown): unknown => {
  try {
    return act()
  } catch (error) {
    return error
  }
}

t.test('decoded audio has hex digits only, or is malformed', async (t) => {
  t.doesNotThrow(() => read('audio', SOUND))
  for (const audio of [BROKEN, `${SOUND}a`])
    t.match(
      caught(() => read('audio', audio)),
      { kind: 'malformed' },
    )
  t.doesNotThrow(() => read('json', BROKEN), 'callers decode the rest')
})
