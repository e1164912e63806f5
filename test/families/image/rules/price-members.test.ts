import t from 'tap'
import type { ImageFamilyRules, ImageKind } from '../../../../src/domain/catalog/image-rules.ts'
import { catalog } from '../../../../src/families/index.ts'
import type { JsonObject } from '../../../../src/kernel/json.ts'

const PICTURE = 'https://media.example.com/boat.png'

/** An order of each kind, for the first model of a family. */
function read({ models, read }: ImageFamilyRules, kind: ImageKind, more: JsonObject): JsonObject {
  const [model = ''] = models
  const ofEdits = kind === 'edit' ? { images: [{ image_url: PICTURE }] } : {}
  const fields = { prompt: 'a boat', ...ofEdits, ...more }
  return read({ kind, form: 'json', model, fields, uploads: [] }).body
}

const orders = catalog.imageFamilies.flatMap((family) =>
  (Object.keys(family.bodies) as ImageKind[]).map((kind) => ({ family, kind })),
)

/** Members of today's clients and of intermediaries, with a value that changes a price. */
const priced: JsonObject = {
  frame_count: 16,
  frameDurationMs: 100,
  svg: {},
  gif: {},
  complexity: 'high',
  num_images: 4,
  service_tier: 'priority',
  serviceTier: 'flex',
  best_of: 2,
  extra_body: { n: 9 },
  provider: { order: ['a'] },
  fallbacks: [{ model: 'dearer' }],
  base_url: 'https://elsewhere.example.com',
}

t.test('a member that changes the price of pictures is 400, naming it', (t) => {
  t.ok(orders.length >= 4, `${orders.length} kinds of orders`)
  for (const { family, kind } of orders)
    for (const [name, value] of Object.entries(priced))
      t.throws(
        () => read(family, kind, { [name]: value }),
        { code: 'invalid_request', details: { param: name } },
        `${family.name} ${kind} ${name}`,
      )
  t.end()
})

t.test('default values are accepted, and other members are passed on or refused', (t) => {
  for (const { family, kind } of orders) {
    const usual = { gif: false, svg: false, provider: false }
    t.doesNotThrow(() => read(family, kind, usual), `${family.name} ${kind}`)
    const unknown = { quux_level: 1 }
    if (family.name === 'gen') {
      t.throws(() => read(family, kind, unknown), {
        code: 'invalid_request',
        details: { param: 'quux_level' },
      })
      continue
    }
    t.match(read(family, kind, unknown), unknown, `${family.name} ${kind}`)
    const passed = { service_tier: 'auto', num_images: 1 }
    t.match(read(family, kind, passed), passed, `${family.name} ${kind}`)
  }
  t.end()
})
