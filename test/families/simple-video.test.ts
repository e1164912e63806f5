import { catalog } from '../../src/families/index.ts'
import t from 'tap'
import type { SimpleVideo } from '../../src/domain/catalog/simple-video.ts'
import { isDomainError } from '../../src/kernel/errors.ts'

/** The families that accept orders in the common form. */

const IMAGE = { kind: 'image', url: 'https://media.example.test/in.png' } as const
const plain: SimpleVideo = {
  model: 'clipq2',
  prompt: 'a paper boat',
  seconds: undefined,
  resolution: undefined,
  ratio: undefined,
  generateAudio: undefined,
  references: [],
}

function accept(changes: Partial<SimpleVideo>) {
  const order = { ...plain, ...changes }
  const found = [...catalog.taskFamilies.values()].find(({ resolve }) => resolve(order.model))
  const rules = found?.simpleVideo
  if (rules === undefined) throw new Error(`no family makes ${order.model}`)
  const { upstreamBody, ...accepted } = rules.accept(order)
  return { ...accepted, upstreamBody: upstreamBody(new Map()) }
}

function paramOf(changes: Partial<SimpleVideo>): unknown {
  try {
    accept(changes)
  } catch (error) {
    if (!isDomainError(error)) throw error
    const param = error.details['param']
    t.ok(error.message.includes(`\`${String(param)}\``), error.message)
    return param
  }
  return 'accepted'
}

t.test('a simple order becomes a request of its family', async (t) => {
  const a = { model: 'overseas-video-2-5-260628', seconds: 8, resolution: '720p', ratio: '16:9' }
  t.match(accept({ ...a, generateAudio: true, references: [IMAGE] }), {
    model: 'overseas-video-2-5',
    facts: { settings: { duration: 8, resolution: '720p', ratio: '16:9', generate_audio: true } },
    upstreamBody: {
      content: [
        { type: 'text', text: 'a paper boat' },
        { type: 'image_url', role: 'reference_image', image_url: { url: IMAGE.url } },
      ],
    },
  })
  t.match(accept({ ...a, references: [{ kind: 'image', url: 'asset://a1' }] }), {
    assets: [{ assetId: 'a1', kind: 'image' }],
  })
  const modeOf = (changes: Partial<SimpleVideo>) => accept(changes).facts.settings['mode']
  t.equal(modeOf({}), 'text2video')
  t.equal(modeOf({ model: 'clipq3-pro', references: [IMAGE], ratio: '16:9' }), 'img2video')
  t.equal(modeOf({ references: [IMAGE, IMAGE] }), 'reference2video')
})

t.test('a family’s refusal names the member of the order', async (t) => {
  const a = { model: 'overseas-video-2-0' }
  const video = { kind: 'video', url: 'https://media.example.test/in.mp4' } as const
  const cases = [
    [{ ...a, seconds: 99 }, 'seconds'],
    [{ ...a, resolution: '8k' }, 'resolution'],
    [{ ...a, ratio: '2:1' }, 'ratio'],
    [{ ...a, prompt: undefined }, 'prompt'],
    [{ ...a, references: [{ kind: 'image', url: 'ftp://x' } as const] }, 'input_reference'],
    [{ seconds: 9 }, 'seconds'],
    [{ ratio: '2:1' }, 'ratio'],
    [{ generateAudio: true }, 'generate_audio'],
    [{ references: [video] }, 'input_reference'],
    [{ references: Array.from({ length: 8 }, () => IMAGE) }, 'input_reference'],
    [{ prompt: undefined }, 'prompt'],
  ] as const
  for (const [changes, param] of cases) t.equal(paramOf(changes), param, JSON.stringify(changes))
})

t.test('the mapped settings of each family are among its recorded settings', async (t) => {
  for (const { family, simpleVideo } of catalog.taskFamilies.values()) {
    if (simpleVideo === undefined) continue
    const { models } = catalog.taskFamily(family)
    t.ok(models.length > 0)
    t.ok(
      Object.values(simpleVideo.settings).every((name) => /^[a-z_]+$/.test(name)),
      family,
    )
  }
})
