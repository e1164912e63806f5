import * as fc from 'fast-check'
import t from 'tap'
import { namesIn } from '../../../../src/api/kit/bodies/foreign-members.ts'
import { videoABody } from '../../../../src/families/video-a/rules/body.ts'
import { speechBodies } from '../../../../src/families/speech/rules/body.ts'
import { videoCBodies } from '../../../../src/families/video-c/rules/request.ts'
import { imageBodies } from '../../../../src/api/v1/images/order.ts'
import { ChatBodySchema } from '../../../../src/families/chat/surface/request.ts'
import { catalog } from '../../../../src/families/index.ts'
import { MessagesBodySchema } from '../../../../src/families/messages/surface/request.ts'
import { ResponsesBodySchema } from '../../../../src/families/responses/surface/request.ts'
import { GenerateBodySchema } from '../../../../src/families/native/surface/bodies.ts'
import { withSchemasInPlace } from '../../../helpers/description.ts'
import { asModel, goodBody, tasksPath } from '../../support/app.ts'
import { chatCompletion, chatPath, goodChat, startText } from '../../v1/support.ts'

const { app, texts, tasks, post } = await startText(t)
texts.answer = () => chatCompletion

const ofAccounts: Readonly<Record<string, string>> = { user: 'pat-one', admin: 'adm-one' }
/** What opens a path. */
const tokenFor = (path: string): Readonly<Record<string, string>> => {
  const secret = ofAccounts[path.split('/')[2] ?? '']
  return secret === undefined ? {} : { authorization: `Bearer ${secret}` }
}

const nativePath = '/v1beta/models/gen-3-pro:generateContent'
const goodResponse = { model: 'text-basic', input: 'Hello' }
const goodNative = { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] }

/** One slip each: where it is, what was meant, in which request. */
const slips: readonly (readonly [string, object, path: string, meant: string])[] = [
  [tasksPath, { ...goodBody, resolutoin: '720p' }, 'resolutoin', 'resolution'],
  [tasksPath, { ...goodBody, Resolution: '720p' }, 'Resolution', 'resolution'],
  [tasksPath, { ...goodBody, generateAudio: false }, 'generateAudio', 'generate_audio'],
  [tasksPath, { model: goodBody.model, content: [], durations: 5 }, 'durations', 'duration'],
  [tasksPath, { ...goodBody, content: [{ tpye: 'text', text: 'x' }] }, 'content[0].tpye', 'type'],
  [tasksPath, { ...goodBody, references: { adio: [] } }, 'references.adio', 'audio'],
  [chatPath, { ...goodChat, temprature: 0 }, 'temprature', 'temperature'],
  [chatPath, { ...goodChat, maxTokens: 5 }, 'maxTokens', 'max_tokens'],
  [chatPath, { model: 'text-basic', message: [] }, 'message', 'messages'],
  [chatPath, { modle: 'text-basic' }, 'modle', 'model'],
  [
    chatPath,
    { ...goodChat, messages: [...goodChat.messages, { role: 'user', contnet: 'x' }] },
    'messages[1].contnet',
    'content',
  ],
  [
    chatPath,
    { ...goodChat, stream: true, stream_options: { includeUsage: true } },
    'stream_options.includeUsage',
    'include_usage',
  ],
  [
    '/v1/responses',
    { ...goodResponse, max_output_token: 5 },
    'max_output_token',
    'max_output_tokens',
  ],
  [
    '/v1/responses',
    { ...goodResponse, previous_responce_id: 'x' },
    'previous_responce_id',
    'previous_response_id',
  ],
  ['/v1/images/generations', { model: 'image-2', promt: 'x' }, 'promt', 'prompt'],
  [
    '/v1/images/edits',
    { model: 'image-2', prompt: 'x', images: [{ imageUrl: 'x' }] },
    'images[0].imageUrl',
    'image_url',
  ],
  [nativePath, { ...goodNative, generation_confg: {} }, 'generation_confg', 'generationConfig'],
  [nativePath, { content: [] }, 'content', 'contents'],
  [
    nativePath,
    { ...goodNative, generationConfig: { maxOutputToken: 5 } },
    'generationConfig.maxOutputToken',
    'maxOutputTokens',
  ],
  [
    nativePath,
    { contents: [{ parts: [{ inline_dat: {} }] }] },
    'contents[0].parts[0].inline_dat',
    'inline_data',
  ],
]

void t.test(
  '400 naming the intended member for a misspelled one, in the shape of the surface',
  async (t) => {
    const done = texts.calls.length + tasks.created.length
    for (const [url, body, path, meant] of slips) {
      const answer = await post(url, body)
      t.equal(answer.statusCode, 400, path)
      const { error } = answer.json<{ readonly error: Readonly<Record<string, unknown>> }>()
      t.equal(error['message'], `\`${path}\` is not known here: did you mean \`${meant}\`?`)
      if (url === tasksPath) t.match(error, { code: 'invalid_request', param: path })
      else if (url === nativePath) t.match(error, { code: 400, status: 'INVALID_ARGUMENT' })
      else t.match(error, { code: 'invalid_value', param: path, type: 'invalid_request_error' })
    }
    t.equal(texts.calls.length + tasks.created.length, done, 'nothing was begun')
  },
)

/** Every object of which a body knows the names of members, by where it is. */
function known(schema: unknown, at: readonly (string | 0)[] = []): [typeof at, string[]][] {
  const {
    oneOf,
    anyOf = oneOf,
    items,
    properties,
    knownExtraFields,
  } = Object(schema) as Record<string, unknown>
  const members = Object.entries(Object(properties) as object)
  const extra = typeof knownExtraFields === 'string' ? namesIn(knownExtraFields) : []
  return [
    [at, [...members.map(([name]) => name), ...extra]],
    ...(Array.isArray(anyOf) ? anyOf.flatMap((one) => known(one, at)) : []),
    ...(items === undefined ? [] : known(items, [...at, 0])),
    ...members.flatMap(([name, member]) => known(member, [...at, name])),
  ]
}

function inside(at: readonly (string | 0)[], body: unknown): unknown {
  return at.reduceRight((inner, step) => (step === 0 ? [inner] : { [step]: inner }), body)
}

interface PostOperation {
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema?: unknown } | undefined>>
  }
}

const { paths } = withSchemasInPlace(
  (await app.inject('/openapi.json')).json<{
    readonly paths: Readonly<Record<string, Readonly<Record<string, PostOperation>>>>
  }>(),
)

void t.test('a name that a route knows is never reported as a typo of another name', async (t) => {
  const { edit } = imageBodies(catalog)
  /** Of bodies that know more names than their description shows. */
  const schemas: Readonly<Record<string, unknown>> = {
    [tasksPath]: videoABody,
    '/provB/v1/t2a_v2': speechBodies.call,
    '/provB/v1/t2a_async_v2': speechBodies.task,
    '/provC/ent/v2/text2video': videoCBodies.text2video,
    '/provC/ent/v2/img2video': videoCBodies.text2video,
    '/provC/ent/v2/start-end2video': videoCBodies.text2video,
    '/provC/ent/v2/reference2video': videoCBodies.text2video,
    [chatPath]: ChatBodySchema,
    '/v1/responses': ResponsesBodySchema,
    '/v1/messages': MessagesBodySchema,
    '/v1/images/edits': edit,
    '/v1/images/edits/async': edit,
    '/v1beta/models/{model}:generateContent': GenerateBodySchema,
    '/v1beta/models/{model}:streamGenerateContent': GenerateBodySchema,
  }
  const routes = Object.entries(paths).flatMap(([path, { post: operation }]) => {
    const content = operation?.requestBody?.content ?? {}
    const form = path in schemas ? content['multipart/form-data'] : undefined
    const { schema } = content['application/json'] ?? form ?? {}
    return schema === undefined ? [] : [[path, schemas[path] ?? schema] as const]
  })
  const found = routes.map(([path]) => path)
  for (const path of Object.keys(schemas)) t.ok(found.includes(path), `${path} has a body`)
  // Of the actions of `/provA` their own test looks at the bodies.
  for (const [path, schema] of routes.filter(([path]) => path !== '/provA'))
    for (const [at, names] of known(schema))
      for (const name of names) {
        // Wrong everywhere, so that what refuses it is something else.
        const answer = await post(
          path.replace('{model}', 'm'),
          inside(at, { [name]: { x: 0 } }),
          tokenFor(path),
        )
        t.notMatch(answer.body, /did you mean/, `${path} ${at.join('.')}.${name}`)
      }
})

void t.test('unknown members pass: short or distant names, members of open objects', async (t) => {
  const others = { N: 1, nn: 1, url: 'x', tip: 1, strategy: 'x', x_resolution_hint: 1, '': 1 }
  const open = { tools: [{ type: 'function', function: { name: 'f', nmae: 1, paramters: {} } }] }
  t.equal((await post(chatPath, { ...goodChat, ...others, ...open })).statusCode, 200)
  t.equal((await post('/v1/responses', { ...goodResponse, ...others })).statusCode, 200)
  t.equal((await post(nativePath, { ...goodNative, ...others })).statusCode, 200)
  const created = await app.inject({
    method: 'POST',
    url: tasksPath,
    headers: asModel,
    // `url` is a member of other creations.
    payload: { ...goodBody, ...others, url: undefined },
  })
  t.equal(created.statusCode, 200)
})

void t.test('a typo of one letter in a long name is always reported', async (t) => {
  const names = ['messages', 'temperature', 'stream_options', 'web_search_options', 'functions']
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...names),
      fc.nat(),
      fc.nat({ max: 25 }),
      async (name, at, letter) => {
        const place = at % name.length
        const other = String.fromCharCode(97 + letter)
        const slip = name.slice(0, place) + other + name.slice(place + 1)
        const known = slip === name || slip.replaceAll('_', '') === ''
        const answer = await post(chatPath, { ...goodChat, [slip]: 1 })
        return (
          known ||
          answer.json<{ error: { message: string } }>().error.message.endsWith(`\`${name}\`?`)
        )
      },
    ),
    { numRuns: 60 },
  )
  t.pass()
})

void t.test('the number of names compared for typos is bounded', async (t) => {
  const unlike = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`zzzzzzz${at}`, 1]))
  t.equal((await post(chatPath, { ...goodChat, ...unlike, mesages: 1 })).statusCode, 200)
})
