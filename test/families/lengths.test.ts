import * as fc from 'fast-check'
import t from 'tap'
import { Type } from 'typebox'
import { strictValidator } from '../../src/api/kit/bodies/validator.ts'
import { readArtBOrder } from '../../src/families/art-b/rules/request.ts'
import { text } from '../../src/domain/catalog/checks/fields.ts'
import { readGenOrder } from '../../src/families/gen/rules/request.ts'
import { readImageOrder } from '../../src/families/image/rules/request.ts'
import { readClone } from '../../src/families/speech/rules/clone-request.ts'
import { readSpeech } from '../../src/families/speech/rules/request.ts'
import { acceptVideoARequest } from '../../src/families/video-a/rules/request.ts'
import { acceptVideoBRequest } from '../../src/families/video-b/rules/request.ts'
import { acceptVideoCRequest } from '../../src/families/video-c/rules/request.ts'
import { checkFilename } from '../../src/domain/file/filename.ts'
import { isDomainError } from '../../src/kernel/errors.ts'
import type { JsonObject } from '../../src/kernel/json.ts'
import { character } from '../helpers/characters.ts'

const said = { type: 'text', text: 'a fox' }
const order = (model: string, fields: JsonObject) =>
  ({ kind: 'generation', form: 'json', model, fields, uploads: [] }) as const
const speech = { model: 'speech-2.8-hd', voice_id: 'nova', text: 'a fox' }
const clone = { file_id: '4503599627370497', voice_id: 'MyVoice_001', model: 'speech-2.8-hd' }

/** Each bound that the contract gives in characters, and what applies it. */
const bounds: readonly (readonly [what: string, most: number, read: (value: string) => unknown])[] =
  [
    [
      '/provA safety_identifier',
      512,
      (value) =>
        acceptVideoARequest({
          model: 'domestic-video-2-0',
          duration: 5,
          resolution: '720p',
          content: [said],
          safety_identifier: value,
        }),
    ],
    [
      '/provB content[].text',
      7_000,
      (value) =>
        acceptVideoBRequest({
          model: 'h3-video',
          duration: 6,
          ratio: '16:9',
          content: [{ type: 'text', text: value }],
        }),
    ],
    [
      '/provC prompt',
      2_000,
      (value) => acceptVideoCRequest('text2video', { model: 'clip2.0', prompt: value }),
    ],
    [
      '/provC payload',
      512,
      (value) =>
        acceptVideoCRequest('text2video', { model: 'clip2.0', prompt: 'a', payload: value }),
    ],
    [
      '/provC meta_data',
      8_192,
      (value) =>
        acceptVideoCRequest('text2video', { model: 'clip2.0', prompt: 'a', meta_data: value }),
    ],
    ['speech text', 9_999, (value) => readSpeech({ ...speech, text: value }, 'call')],
    ['speech text of a task', 50_000, (value) => readSpeech({ ...speech, text: value }, 'task')],
    [
      'pronunciation_dict.tone',
      200,
      (value) => readSpeech({ ...speech, pronunciation_dict: { tone: [value] } }, 'call'),
    ],
    ['audition text', 1_000, (value) => readClone({ ...clone, text: value })],
    [
      'clone_prompt.prompt_text',
      2_000,
      (value) => readClone({ ...clone, clone_prompt: { prompt_audio: '7', prompt_text: value } }),
    ],
    ['image prompt', 32_000, (value) => readImageOrder(order('image-2', { prompt: value }))],
    ['artB prompt', 32_000, (value) => readArtBOrder(order('artB-5.0', { prompt: value }))],
    [
      'gen prompt',
      262_144,
      (value) => readGenOrder(order('gen-3.1-flash-image', { prompt: value })),
    ],
    ['name of a file', 255, (value) => checkFilename(value, 'file')],
  ]

/** What a reading says against a value; undefined where it takes it. */
function refusalOf(read: (value: string) => unknown, value: string): string | undefined {
  try {
    read(value)
    return undefined
  } catch (error) {
    if (isDomainError(error)) return error.message
    throw error
  }
}

t.test('a bound in characters counts code points, not code units', (t) => {
  for (const [what, most, read] of bounds)
    for (const character of ['a', '字', '🦊', '𠮷']) {
      t.equal(
        refusalOf(read, character.repeat(most)),
        undefined,
        `${most} of ${character}: ${what}`,
      )
      t.match(
        refusalOf(read, character.repeat(most + 1)),
        new RegExp(`at most (${most}|\\d+ texts of at most ${most}) characters`),
        `one more of ${character}, and the bound it is refused by is the one that is named: ${what}`,
      )
    }
  t.end()
})

t.test('a schema counts code points in bodies, headers and queries', (t) => {
  const schema = Type.Object({ name: Type.String({ maxLength: 128 }) })
  for (const httpPart of ['body', 'headers', 'querystring'])
    for (const character of ['a', '🦊']) {
      const check = strictValidator({ schema, httpPart, method: 'POST', url: '/' })
      const refused = (count: number) =>
        Object.hasOwn(Object(check({ name: character.repeat(count) })), 'error')
      t.equal(refused(128), false, `${httpPart}: 128 of ${character}`)
      t.equal(refused(129), true, `${httpPart}: 129 of ${character}`)
    }
  t.end()
})

t.test('the code points of any text are counted', (t) => {
  fc.assert(
    fc.property(
      fc.string({ unit: character, maxLength: 40 }),
      fc.nat({ max: 40 }),
      (value, most) => {
        fc.pre(!value.includes('\u0000'))
        const tooLong = Array.from(value).length > most
        return (refusalOf((given) => text(given, 'member', most), value) !== undefined) === tooLong
      },
    ),
    { numRuns: 10_000 },
  )
  t.end()
})
