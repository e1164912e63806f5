import { type TSchemaOptions, Type } from 'typebox'
import { contentItem, type MediaKind, mediaUrlFault } from '../../../domain/catalog/checks/media.ts'
import { NotBlank, RefusedMember } from '../../../kernel/body.ts'
import { isJsonObject } from '../../../kernel/json.ts'
import { videoAModels } from './models.ts'
import { WEB_SEARCH } from './pricing.ts'

const LONGEST_PROJECT_NAME = 64

/** Whether a text can name a project: a letter or digit, then those, `_`, `-` and `.`; 64 at most. */
function isProjectName(text: string): boolean {
  return text.length <= LONGEST_PROJECT_NAME && /^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(text)
}

/** The body of a `/provA` task, without the rules that depend on the model or on other members. */

const names = videoAModels.map(({ name }) => name)

/** A model or its alias. */
export function modelName(description = '', words: Readonly<Record<string, string>> = {}) {
  return Type.Enum([...names, ...videoAModels.flatMap(({ aliases }) => aliases)], {
    words: {
      enum: `is not a model of this interface; use one of ${names.join(', ')}`,
      ...words,
    },
    documented: {
      type: 'string',
      description: `External model name or its version alias${description}.`,
    },
  })
}

/** The project of something in the asset library. */
export function projectName(documented: TSchemaOptions) {
  return Type.String({
    minLength: 1,
    maxLength: 64,
    check: (name: string) =>
      isProjectName(name)
        ? undefined
        : 'must be letters, digits, `_`, `-` and `.`, and begin with a letter or a digit',
    ...documented,
  })
}

/** For every model; the 2.5 models have lower counts. */
export const maxContentItems = 100

/** The range of `execution_expires_after`, in seconds, which upstream has on every model. */
export const EXPIRES_AFTER_S = { min: 3_600, max: 259_200 } as const

const open = { additionalProperties: true } as const

const ofMedia = (kind: MediaKind, ...roles: readonly string[]) => ({
  url: urlOf(kind),
  role: Type.Optional(
    Type.Enum([...roles], {
      words: `must be ${roles.length > 1 ? 'one of ' : ''}${roles.join(', ')} for ${kind}_url items, or absent`,
    }),
  ),
})

function urlOf(kind: MediaKind) {
  return Type.String({
    check: (url: string) => mediaUrlFault(url, kind),
    description: 'Public https:// URL, data: URI (images and audio) or asset://<id>.',
  })
}

const Content = Type.Array(
  contentItem<string>(Type.String({ maxLength: 100_000, description: 'The prompt.' }), {
    image: ofMedia('image', 'reference_image', 'first_frame', 'last_frame'),
    video: ofMedia('video', 'reference_video'),
    audio: ofMedia('audio', 'reference_audio'),
  }),
  { maxItems: maxContentItems, description: 'At least a prompt text or one reference.' },
)

/** Members of the overseas mini model besides `content`. */
const References = Type.Object(
  {
    audio: Type.Optional(
      Type.Array(Type.Union([urlOf('audio'), Type.Object({ url: urlOf('audio') }, open)]), {
        maxItems: maxContentItems,
      }),
    ),
  },
  {
    ...open,
    words: { type: 'must be an object with `audio`' },
    check: (references: object) =>
      Object.keys(references).every((name) => name === 'audio')
        ? undefined
        : 'accepts only `audio`: put other references into `content`',
  },
)

const Tools = Type.Array(
  // A fault in one item is reported for the whole list.
  Type.Unsafe<unknown>({
    properties: { type: {} },
    documented: {
      type: 'object',
      properties: { type: { enum: [WEB_SEARCH] } },
      required: ['type'],
    },
  }),
  {
    check: ([tool, ...others]: readonly unknown[]) =>
      (tool === undefined || (isJsonObject(tool) && tool['type'] === WEB_SEARCH)) &&
      others.length === 0
        ? undefined
        : `must be [{"type": "${WEB_SEARCH}"}]`,
  },
)

function callbackFault(sent: string): string | undefined {
  const url = sent.trim()
  if (url === '') return 'must not be empty'
  if (/^https:\/\/[^\s/]/i.test(url) && !/[\s\p{Cc}]/u.test(url) && URL.canParse(url))
    return undefined
  return 'must be a public https:// URL'
}

const callback = (description: string) =>
  Type.Optional(
    Type.String({
      maxLength: 2_048,
      check: callbackFault,
      documented: { type: 'string', maxLength: 2_048, format: 'uri', description },
    }),
  )

/** A member whose allowed values depend on the model. */
const byModel = (choices: readonly string[]) =>
  Type.Optional(Type.Unsafe<unknown>({ documented: { enum: choices } }))

const flag = Type.Optional(Type.Boolean())
/** Members that are not sent, or that upstream silently ignores. */
const unsupported = RefusedMember('is not supported: leave it out')
const only20 = { description: 'Only with the 2.0 models.' } as const
export const videoABody = Type.Object(
  {
    model: modelName(),
    content: Content,
    duration: Type.Unsafe<number>({
      check: (seconds: unknown) => (typeof seconds === 'number' ? undefined : 'must be an integer'),
      documented: { type: 'integer', description: 'Seconds; -1: the model chooses.' },
    }),
    ratio: Type.Optional(
      Type.Enum(['adaptive', '16:9', '9:16', '1:1', '4:3', '3:4', '21:9'], {
        description: 'Must be `adaptive` if a 2.5 model gets a first or last frame.',
      }),
    ),
    resolution: byModel(['480p', '720p', '1080p', '4k']),
    generate_audio: flag,
    watermark: flag,
    return_last_frame: flag,
    execution_expires_after: Type.Optional(
      Type.Integer({
        minimum: EXPIRES_AFTER_S.min,
        maximum: EXPIRES_AFTER_S.max,
        description: 'Seconds.',
      }),
    ),
    priority: Type.Optional(Type.Integer({ minimum: 0, maximum: 9 })),
    safety_identifier: Type.Optional(
      Type.String({
        maxLength: 512,
        description: 'Stable hashed end-user identifier.',
        ...NotBlank,
      }),
    ),
    callback_url: callback('https:// URL whose host is publicly routable.'),
    CallbackURL: callback('Alias of callback_url, which takes precedence if both are present.'),
    output_format: byModel(['mp4', 'mov']),
    service_tier: byModel(['default', 'flex']),
    draft: flag,
    tools: Type.Optional(Tools),
    references: Type.Optional(References),
    // The purpose of a reference follows from `content`: another choice has other rules and prices.
    omni_reference_task_type: Type.Optional(
      Type.Enum(['auto'], {
        words: 'must be auto, or absent',
        description: 'Accepted and ignored.',
      }),
    ),
    seed: Type.Optional(Type.Integer({ minimum: -1, maximum: 2 ** 32 - 1, ...only20 })),
    camera_fixed: Type.Optional(Type.Boolean(only20)),
    ProjectName: Type.Optional(projectName({ description: 'Project of the assets in `content`.' })),
    frames: unsupported,
    frames_per_second: unsupported,
    framespersecond: unsupported,
    frame_rate: unsupported,
    fps: unsupported,
  },
  {
    named: 'VideoTaskRequest',
    ...open,
    examples: [
      {
        model: 'overseas-video-2-0-mini',
        content: [{ type: 'text', text: 'A paper boat crosses a puddle, slow push-in' }],
        duration: 5,
        resolution: '720p',
        ratio: '16:9',
      },
    ],
  },
)
