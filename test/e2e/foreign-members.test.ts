import pino from 'pino'
import t from 'tap'
import { foreignToCreations } from '../../src/api/kit/bodies/foreign-members.ts'
import { membersOf as membersOfBodies } from '../../src/api/kit/routes/surface.ts'
import { imageBodies } from '../../src/api/v1/images/order.ts'
import { CreateVideoBodySchema } from '../../src/api/v1/videos/order.ts'
import { catalog, families } from '../../src/families/index.ts'
import { openFamilies } from '../../src/families/module.ts'
import { pictureOf } from '../../infra/sandbox/media/pictures.ts'
import { asModel, familyDeps, startApp } from '../api/support/app.ts'
import { answered } from '../api/support/memory-calls.ts'
import { withSchemasInPlace } from '../helpers/description.ts'
import { atLength } from '../helpers/long-run.ts'
import { startStack } from '../helpers/stack.ts'
import { type Answer, call, TASKS } from './support/client.ts'

const stack = await startStack({
  env: { OBJECT_STORAGE: 'local', PUBLIC_BASE_URL: 'https://gateway.example.com' },
  hosts: { 'media.example.com': ['93.184.216.34'], 'hooks.example.com': ['93.184.216.34'] },
})
t.teardown(() => stack.stop())
const { url, demo } = stack
/** What refuses a member does so before anything is looked up. */
const memory = await startApp({
  logger: pino({ level: 'silent' }),
  images: {
    tasks: {
      create: () => Promise.reject(new Error('it took a member that it should refuse')),
      get: () => Promise.reject(new Error('is not asked for')),
      quote: answered,
    },
  },
})
memory.hosts.set('media.example.com', ['93.184.216.34'])
t.teardown(() => memory.app.close())

const foreignMembers = foreignToCreations(
  membersOfBodies([
    ...[...Object.values(imageBodies(catalog)), CreateVideoBodySchema].map((schema) => ({
      bodies: [{ schema }],
    })),
    ...openFamilies(families, familyDeps).surfaces,
  ]),
)

const PICTURE = 'https://media.example.com/boat.png'
const PIXEL = 'data:image/png;base64,iVBORw0KGgo='
const content = [{ type: 'text', text: 'a boat' }]
const prompt = 'a boat'

/** A creation as one family takes it. */
interface Creation {
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  readonly isText?: true
  readonly isForm?: true
  /** Names that have a meaning to the gateway itself, and are documented. */
  readonly meant?: string
  /** Values by which members that the route knows would be used. */
  readonly values?: Readonly<Record<string, unknown>>
}

const ofImages = {
  n: 2,
  quality: 'high',
  background: 'opaque',
  moderation: 'low',
  user: 'user-1',
  style: 'vivid',
  watermark: true,
  tools: [{ type: 'web_search' }],
  stream: true,
  partial_images: 1,
  sequential_image_generation: 'auto',
  sequential_image_generation_options: { max_images: 2 },
  optimize_prompt_options: { mode: 'fast' },
  input_fidelity: 'high',
  image: [PICTURE],
  images: [{ image_url: PICTURE }],
  image_urls: [PICTURE],
  mask: { image_url: PIXEL },
}
const ofTasks = { seed: 1, camera_fixed: true, frames: 57, fps: 24, framespersecond: 24 }
const ofSpeech = { speed: 1.5, vol: 2, pitch: 1, subtitle_enable: true, text_file_id: '1' }

const ofModel: Readonly<Record<string, string>> = {
  'image-2': 'partial_images',
  // Previews of a stream.
  'image-2.5-flare': 'partial_images',
  'gen-3.1-flash-image': 'n user',
  // Of a group.
  'artB-5.0': 'style quality n watermark sequential_image_generation_options',
}
const edit = { prompt, images: [{ image_url: PIXEL }] }
const clip = { model: 'clip2.0', prompt }
const images = (model: string): Creation => ({
  path: '/v1/images/generations',
  body: { model, prompt },
  values: ofImages,
  // A stream is the gateway's business, of `image-2` it is none; `artB` takes `style` and `quality`.
  meant: `stream ${ofModel[model]}`,
})
const edits = (model: string): Creation => ({
  path: '/v1/images/edits',
  body: { model, ...edit },
  values: ofImages,
  meant: 'stream partial_images input_fidelity user n images mask image_urls',
})
const asset = (action: string, meant: string, body: object): Creation => ({
  path: `/provA/?Action=${action}&Version=2024-01-01`,
  body: { model: 'domestic-video-2-0', ...body },
  meant: `ProjectName ${meant}`,
})

const creations: readonly Creation[] = [
  {
    path: '/v1/chat/completions',
    body: { model: 'text-basic', messages: [{ role: 'user', content: 'Hello' }] },
    isText: true,
  },
  { path: '/v1/responses', body: { model: 'text-basic', input: 'Hello' }, isText: true },
  { path: '/v1/responses/compact', body: { model: 'text-basic', input: 'Hello' }, isText: true },
  ...[
    '/v1beta/models/text-basic:generateContent',
    '/v1beta/models/text-basic:streamGenerateContent',
    '/v1/models/text-basic:generateContent',
    '/v1/models/text-basic:streamGenerateContent',
  ].map((path) => ({
    path,
    body: { contents: [{ parts: [{ text: 'Hello' }] }] },
    isText: true as const,
    // The path says both.
    meant: 'model stream',
  })),
  images('image-2'),
  images('image-2.5-flare'),
  images('gen-3.1-flash-image'),
  images('artB-5.0'),
  edits('image-2'),
  edits('gen-3.1-flash-image'),
  { ...edits('image-2'), body: { model: 'image-2', prompt }, isForm: true },
  { ...edits('gen-3.1-flash-image'), body: { model: 'gen-3.1-flash-image', prompt }, isForm: true },
  {
    ...images('image-2'),
    path: '/v1/images/generations/async',
    // Sent later, by a worker, as synchronous images are.
    meant: 'partial_images n user quality background moderation',
  },
  {
    path: '/v1/images/edits/async',
    body: { model: 'image-2', prompt },
    isForm: true,
    values: ofImages,
    // Sent later, by a worker, as synchronous edits are.
    meant: `${edits('image-2').meant} quality background moderation`,
  },
  { path: '/v1/videos', body: { model: 'domestic-video-2-0', prompt }, values: ofTasks },
  { path: '/v1/videos', body: { model: 'h3-video', prompt } },
  { path: '/v1/videos', body: { model: 'clipq3-pro', prompt } },
  { path: '/v1/videos', body: { model: 'domestic-video-2-0', prompt }, isForm: true },
  {
    path: TASKS,
    body: { model: 'domestic-video-2-0', content, duration: 5, resolution: '720p' },
    values: ofTasks,
    meant: 'ProjectName',
  },
  {
    path: TASKS,
    body: { model: 'overseas-video-2-5', content, duration: 5 },
    values: ofTasks,
    meant: 'ProjectName',
  },
  {
    path: '/provB/v2/video_generation',
    body: { model: 'h3-video', content, duration: 6, ratio: '16:9' },
  },
  { path: '/provC/ent/v2/text2video', body: clip },
  { path: '/provC/ent/v2/img2video', body: { ...clip, images: [PICTURE] } },
  { path: '/provC/ent/v2/start-end2video', body: { ...clip, images: [PICTURE, PICTURE] } },
  { path: '/provC/ent/v2/reference2video', body: { ...clip, images: [PICTURE] } },
  ...['t2a_v2', 't2a_async_v2'].map((path) => ({
    path: `/provB/v1/${path}`,
    body: { model: 'speech-2.8-hd', text: 'Good morning.', voice_id: 'nova' },
    values: ofSpeech,
  })),
  {
    path: '/v1/audio/speech',
    body: { model: 'speech-2.8-hd', input: 'Good morning.', voice: 'nova' },
    values: { speed: 1.5 },
    // The one value that it takes is what it does.
    meant: 'stream_format',
  },
  { path: '/provB/v1/voice_clone', body: { file_id: '4503599627370496', voice_id: 'MyVoice_001' } },
  asset('CreateAssetGroup', '', {}),
  // Further spellings of `URL`.
  asset('CreateAsset', 'Url url', { GroupId: 'group-x', URL: PICTURE, AssetType: 'Image' }),
  asset('CreateVisualValidateSession', '', { CallbackURL: 'https://hooks.example.com/x' }),
]

interface Operation {
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: unknown }>>
  }
}

const operations = withSchemasInPlace((await call(`${url}/openapi.json`)).body).paths as Readonly<
  Record<string, Readonly<Record<string, Operation>>>
>

/** Of its JSON, or of the form of a creation that takes nothing else. */
function schemaOf(path: string): unknown {
  const content = operations[path]?.['post']?.requestBody?.content
  const isCreation = path.startsWith('/v1/images/')
  return (
    content?.['application/json'] ?? (isCreation ? content?.['multipart/form-data'] : undefined)
  )?.schema
}

/** The alternatives of a schema that are no further alternatives. */
function alternativesOf(schema: unknown): readonly unknown[] {
  const { anyOf } = Object(schema) as { readonly anyOf?: readonly unknown[] }
  return anyOf === undefined ? [schema] : anyOf.flatMap(alternativesOf)
}

function membersOf(schema: unknown): readonly (readonly [string, unknown])[] {
  return alternativesOf(schema).flatMap((one) =>
    Object.entries(Object(Reflect.get(Object(one), 'properties'))),
  )
}

/** At any depth. */
function namesIn(schema: unknown): readonly string[] {
  return [
    ...membersOf(schema).flatMap(([name, member]) => [name, ...namesIn(member)]),
    ...alternativesOf(schema).flatMap((one) => {
      const items: unknown = Reflect.get(Object(one), 'items')
      return items === undefined ? [] : namesIn(items)
    }),
  ]
}

/** The path of the description, and what of it an action is. */
function described({ path }: Creation): unknown {
  const action = /Action=(\w+)/.exec(path)?.[1]
  if (action === undefined) return schemaOf(path.replace(/models\/[^:]+:/, 'models/{model}:'))
  return alternativesOf(schemaOf('/provA')).find(
    (one) => Reflect.get(Object(one), 'title') === `${action}Request`,
  )
}

const picture = await pictureOf(64, 64, 'png')

function formOf(body: Readonly<Record<string, unknown>>): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(body))
    form.append(name, typeof value === 'string' ? value : JSON.stringify(value))
  form.append('image', new Blob([new Uint8Array(picture)]), 'boat.png')
  return form
}

function post({ path, body, isForm }: Creation, members: object): Promise<Answer> {
  const whole = { ...body, ...members }
  return call(`${url}${path}`, {
    method: 'POST',
    token: demo.modelToken,
    ...(isForm
      ? { body: formOf(whole) }
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(whole) }),
  })
}

type Refusal = Pick<Answer, 'status' | 'text'>

/** Over parts in memory. */
async function postUnseen({ path, body, isForm }: Creation, members: object): Promise<Refusal> {
  const whole = { ...body, ...members }
  const form = new Response(isForm ? formOf(whole) : JSON.stringify(whole))
  const answer = await memory.app.inject({
    method: 'POST',
    url: path,
    headers: {
      ...asModel,
      'content-type': isForm ? (form.headers.get('content-type') ?? '') : 'application/json',
    },
    payload: Buffer.from(await form.arrayBuffer()),
  })
  return { status: answer.statusCode, text: answer.body }
}

const plain = (name: string): string => name.toLowerCase().replaceAll('_', '')

/** In whatever spelling. */
const refuses = ({ status, text }: Refusal, name: string): boolean =>
  (status === 400 || /"status_code":2013/.test(text)) &&
  [...text.matchAll(/(?:`|"param":")(\w+)[^`"]*[`"]/g)].some(
    ([, one = '']) => plain(one) === plain(name),
  )

/** Members in one body; what upstream got of them is told apart by their names. */
const BATCH = 64
/** Of the members that a creation refuses, one in so many is quoted too: each one at several creations. */
const QUOTED = 4
/** A creation is asked about one in so many members of the others, the next one about others, and about all at length. */
const EACH = atLength(3, 1)
let seen = 0

/** Bodies that upstream got since the last look, as text. */
async function received(): Promise<readonly string[]> {
  const answer = await call(`${stack.sandbox.url}/__sandbox/log?after=${seen}`)
  const items = answer.body.items as readonly { seq: number; method: string; body: unknown }[]
  seen = items.at(-1)?.seq ?? seen
  return items
    .filter(({ method }) => method === 'POST')
    .map(({ body }) => (typeof body === 'string' ? body : JSON.stringify(body)))
}

/** How often a body names a member, in whatever spelling. */
function timesIn(body: string, name: string): number {
  return [...body.matchAll(/"(\w+)"/g)].filter(([, one = '']) => plain(one) === plain(name)).length
}

/** Whether a body has the member, which a plain creation has not, or not with the value. */
function isIn(body: string, name: string, value: unknown, plainly: string): boolean {
  if (timesIn(body, name) > timesIn(plainly, name)) return true
  if (value === undefined) return false
  const inJson = `"${name}":${JSON.stringify(value)}`
  const inForm = `name="${name}"\r\n\r\n${typeof value === 'string' ? value : JSON.stringify(value)}\r\n`
  return [inJson, inForm].some((whole) => body.includes(whole) && !plainly.includes(whole))
}

/** Whether the quote of a creation does not refuse a member in the words of the creation itself. */
async function isQuotedOtherwise(
  { path, body, isForm }: Creation,
  member: object,
  answer: Refusal,
): Promise<boolean> {
  const words = /`[^`]*` is not (?:accepted|known) here[^"(]*/.exec(answer.text)?.[0].trim()
  if (isForm || path.includes('?') || words === undefined) return false
  const asked = { path: '/v1/quote', body: { path, body: { ...body, ...member } } }
  const quoted = await postUnseen(asked, {})
  return quoted.status !== 400 || !quoted.text.includes(words)
}

/** Of each no two are spellings of one name, which could not be told apart. */
function batches(names: readonly string[]): readonly (readonly string[])[] {
  const made: string[][] = []
  for (const name of names) {
    const free = made.find(
      (batch) => batch.length < BATCH && !batch.some((one) => plain(one) === plain(name)),
    )
    if (free === undefined) made.push([name])
    else free.push(name)
  }
  return made
}

/** Of these members, sent in one body, those that are neither sent to upstream nor refused by name. */
async function unsent(
  creation: Creation,
  names: readonly string[],
  plainly: string,
): Promise<readonly string[]> {
  const valueOf = (name: string): unknown => creation.values?.[name]
  const members = Object.fromEntries(names.map((name) => [name, valueOf(name) ?? 'x']))
  const answer = await post(creation, members)
  const bodies = await received()
  const lost = names.filter(
    (name) => !bodies.some((body) => isIn(body, name, valueOf(name), plainly)),
  )
  if (names.length === 1)
    return refuses(answer, names[0] ?? '')
      ? []
      : lost.map((name) => `${name} ${answer.status} ${answer.text.slice(0, 120)}`)
  // Refused for one of them, none is sent: each that the answer names is asked alone, and the others without it.
  const named = lost.filter((name) => refuses(answer, name))
  const rest = lost.filter((name) => !named.includes(name))
  const half = named.length > 0 ? rest.length : Math.ceil(rest.length / 2)
  const parts = [...named.map((name) => [name]), rest.slice(0, half), rest.slice(half)]
  const apart: string[] = []
  for (const part of parts)
    if (part.length > 0) apart.push(...(await unsent(creation, part, plainly)))
  return apart
}

/** Members that a creation neither uses nor refuses by name, or that its quote refuses in other words. */
async function dropped(creation: Creation): Promise<readonly string[]> {
  const { values = {}, meant = '' } = creation
  const own = new Set(membersOf(described(creation)).map(([name]) => name))
  const names = [...foreignMembers.names]
    .filter((name) => !own.has(name) || (name in values && !(name in creation.body)))
    .filter((name) => !meant.split(' ').includes(name))
    .filter((name, at) => name in values || (at + creations.indexOf(creation)) % EACH === 0)
  await received()
  await post(creation, {})
  const [plainly = ''] = await received()
  const lost: string[] = []
  const passedOn: string[] = []
  for (const [at, name] of names.entries()) {
    const member = { [name]: values[name] ?? 'x' }
    const answer = await postUnseen(creation, member)
    const isRefused = refuses(answer, name)
    // One of those that are refused is refused over the real parts too.
    if (!isRefused || at === 0) passedOn.push(name)
    const isQuoted = isRefused && at % QUOTED === 0
    if (isQuoted && (await isQuotedOtherwise(creation, member, answer)))
      lost.push(`${name} in /v1/quote`)
  }
  for (const batch of batches(passedOn)) lost.push(...(await unsent(creation, batch, plainly)))
  return lost
}

t.test('every described creation is covered, with known members', (t) => {
  // A provider of messages refuses the members that it does not know; a count has the body of its call.
  const others = /^\/api\/|^\/v1\/(?:quote|messages)$|(?:count_tokens|input_tokens|:countTokens)$/
  const paths = Object.keys(operations).filter(
    (path) => schemaOf(path) !== undefined && !others.test(path),
  )
  const looked = creations.map(({ path }) =>
    path.replace(/models\/[^:]+:/, 'models/{model}:').replace(/\/\?.*/, ''),
  )
  t.same([...new Set(looked)].sort(), paths.sort())
  for (const creation of creations) {
    const schema = described(creation)
    t.ok(schema, creation.path)
    t.same(
      namesIn(schema).filter((name) => !foreignMembers.names.has(name)),
      [],
      `${creation.path}: members that other creations would not refuse`,
    )
  }
  t.end()
})

/** What the page of a surface says of a member that no interface has. */
function ruleFor({ path, body, isText }: Creation): 'passed on' | 'refused' | 'left out' {
  if (isText === true) return 'passed on'
  if (!path.startsWith('/v1/images/')) return 'left out'
  return String(body['model']).startsWith('gen-') ? 'refused' : 'passed on'
}

t.test(
  'a member that no interface has is passed on, refused or dropped, as documented',
  async (t) => {
    for (const [index, creation] of creations.entries()) {
      // Each has its own: a worker sends some of them later.
      const name = `quux_level_${index}`
      const at = `${creation.path} ${JSON.stringify(creation.body['model'] ?? '')}`
      await received()
      const answer = await post(creation, { [name]: 'x' })
      const rule = ruleFor(creation)
      const isPassed = (await received()).some((body) => timesIn(body, name) > 0)
      if (rule === 'passed on') {
        const isLater = creation.path.endsWith('/async') && answer.status === 200
        t.ok(isPassed || isLater, `${at} is ${rule}: ${answer.text.slice(0, 120)}`)
        continue
      }
      t.notOk(isPassed, `${at} is ${rule}`)
      t.equal(refuses(answer, name), rule === 'refused', `${at}: ${answer.text.slice(0, 120)}`)
    }
  },
)

const nameOf = ({ body }: Creation): string => JSON.stringify(body['model'] ?? '')

for (const creation of creations)
  t.test(
    `${creation.path} ${nameOf(creation)}${creation.isForm ? ' form' : ''}: each member of every creation is used or refused`,
    async (t) => {
      t.same(await dropped(creation), [])
    },
  )
