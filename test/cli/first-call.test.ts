import t from 'tap'
import { firstCall } from '../../src/cli/first-call.ts'
import { catalog } from '../../src/families/index.ts'

const channel = (family: string, ...models: readonly string[]) => ({
  family,
  models: Object.fromEntries(models.map((model) => [model, 'upstream-1'])),
})
const textOf = (...channels: readonly ReturnType<typeof channel>[]) =>
  firstCall(catalog, channels, 'http://127.0.0.1:8080')?.join('\n') ?? ''

t.test('the first call names a model that a channel serves, of chat if there is one', async (t) => {
  const own = channel('chat', 'own-text')
  const images = channel('image', 'image-2')
  for (const text of [textOf(own, images), textOf(images, own)]) {
    t.match(text, 'curl http://127.0.0.1:8080/v1/chat/completions ')
    t.match(text, '"model":"own-text"')
  }
})

t.test('without chat it is a call of another kind that the channels serve', async (t) => {
  for (const [family, model, path] of [
    ['responses', 'own-text', '/v1/responses'],
    ['native', 'own-text', '/v1beta/models/own-text:generateContent'],
    ['image', 'image-2', '/v1/images/generations'],
    ['gen', 'gen-2.5-flash-image', '/v1/images/generations'],
    ['speech', 'speech-2.8-hd', '/v1/audio/speech'],
    ['video-c', 'clipq2', '/v1/videos'],
  ] as const) {
    const text = textOf(channel(family, model))
    t.match(text, `8080${path} `, family)
    t.match(text, model, family)
  }
})

t.test('there is none where no channel serves such a model', async (t) => {
  t.equal(
    firstCall(catalog, [channel('speech', 'voice-clone')], 'http://127.0.0.1:8080'),
    undefined,
  )
})
