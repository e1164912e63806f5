import { type TObject, type TProperties, type TSchema, Type } from 'typebox'
import type { ImageKind, ImageOrder, ImageRequest } from '../../../domain/catalog/image-rules.ts'
import type { Catalog } from '../../../domain/catalog/catalog.ts'
import { isDataUri } from '../../../domain/catalog/checks/pictures.ts'
import { asksForNothing, refuse } from '../../../domain/catalog/checks/fields.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { documentedSchema } from '../../../kernel/body.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import type { SentBody } from '../../kit/routes/creation-route.ts'
import { modelName, publicUrl } from '../../kit/bodies/member-checks.ts'
import type { ReadForm } from '../../kit/bodies/multipart.ts'
import type { Services } from '../../kit/services.ts'
import type { ResolveHost } from '../../../kernel/public-url.ts'

/** Converts a JSON body or a form to the order of its model's family. */

/** An order of a family, read. */
export interface ReadOrder {
  readonly family: string
  readonly model: string
  readonly request: ImageRequest
}

/** @throws DomainError `invalid_request`, `unknown_model` */
export async function readOrder(
  services: Pick<Services, 'models' | 'hosts'>,
  kind: ImageKind,
  { body, form }: SentBody,
  /** Additional refusals of a route. */
  check?: (order: ImageOrder) => void,
): Promise<ReadOrder> {
  const order =
    form === undefined ? jsonOrder(body, kind) : formOrder(form, kind, services.models.catalog)
  return readAsItsFamily(services, order, check)
}

async function readAsItsFamily(
  { models: { catalog }, hosts }: Pick<Services, 'models' | 'hosts'>,
  order: ImageOrder,
  check: (order: ImageOrder) => void = () => undefined,
): Promise<ReadOrder> {
  check(order)
  const { kind } = order
  const family = catalog.imageFamilyOf(order.model)
  if (family === undefined)
    throw new DomainError('unknown_model', `the model ${order.model} does not make images`, {
      model: order.model,
    })
  const schema = family.bodies[kind]
  if (schema === undefined)
    return refuse('model', `\`model\` must be a model that makes ${kind}s; ${order.model} does not`)
  const read = family.read(order)
  refuseOthers(order, schema, catalog)
  await checkUrls(read, hosts.resolve)
  return { family: family.name, model: read.model, request: read }
}

/** Null counts as absent, as clients of this surface expect. */
function jsonOrder(body: JsonObject, kind: ImageKind): ImageOrder {
  const model = modelName(body)
  const given = Object.entries(body).filter(([name, value]) => name !== 'model' && value !== null)
  return { kind, form: 'json', model, fields: Object.fromEntries(given), uploads: [] }
}

function formOrder(form: ReadForm, kind: ImageKind, catalog: Catalog): ImageOrder {
  const { fields, uploads } = form
  const model = modelName(fields)
  const read = Object.entries(fields)
    .filter(([name]) => name !== 'model')
    .map(([name, value]) => [name, typed(value, typeOf(name, catalog))] as const)
  return { kind, form: 'multipart', model, fields: Object.fromEntries(read), uploads }
}

/** A form has everything as text. */
function typed(value: string | readonly string[], type: unknown): unknown {
  if (typeof value !== 'string') return value
  if (type === 'integer') return /^-?\d{1,9}$/.test(value) ? Number(value) : value
  return type === 'boolean' ? value === 'true' || (value !== 'false' && value) : value
}

const bodiesOf = ({ imageFamilies }: Catalog) =>
  imageFamilies.flatMap(({ bodies }) => Object.values(bodies))

/** The description of a member in the first family that has one. */
function typeOf(name: string, catalog: Catalog): unknown {
  return bodiesOf(catalog)
    .map(({ properties }) => Reflect.get(Object(properties[name]), 'type'))
    .find((type) => type !== undefined)
}

/**
 * A member of another family is accepted only if it asks for the default: any other value would be
 * ignored.
 */
function refuseOthers({ model, fields }: ImageOrder, schema: TObject, catalog: Catalog): void {
  for (const [name, value] of Object.entries(fields)) {
    // A form may say more in brackets.
    const isKnownTo = ({ properties }: TObject) =>
      Object.hasOwn(properties, name.replace(/\[.*$/s, ''))
    if (!isKnownTo(schema) && bodiesOf(catalog).some(isKnownTo) && !asksForNothing(name, value))
      refuse(name, `\`${name}\` is not accepted by ${model}`)
  }
}

/** Upstream fetches them; the gateway checks their address like a callback's. */
async function checkUrls({ inputs, mask }: ImageRequest, resolveHost: ResolveHost): Promise<void> {
  const pictures = mask === undefined ? inputs : [...inputs, mask]
  await Promise.all(
    pictures.map(async (picture) => {
      if (picture.from !== 'url' || isDataUri(picture.url)) return
      await publicUrl(picture.url, picture.param, resolveHost, 'fetch')
    }),
  )
}

/** Shapes of images; each family's own rules are in its documentation. */

const open = { additionalProperties: true }

/** The bodies of both kinds; the model selects the alternative. */
export function imageBodies({ imageFamilies }: Catalog) {
  const bodiesOf = (kind: ImageKind) => imageFamilies.flatMap(({ bodies }) => bodies[kind] ?? [])
  const generations = bodiesOf('generation')
  const edits = bodiesOf('edit')
  // Edits accept a member that only generations have if it asks for the default.
  const knownExtraFields = generations
    .map(({ properties }) => Object.keys(properties).join(' '))
    .join(' ')
  return {
    generation: Type.Union(generations),
    edit: Type.Union(edits, {
      knownExtraFields,
      asForm: editForm(edits, referredPictures, 'ImageEditForm'),
    }),
    editTask: editForm(edits, { response_format: Type.Enum(['url']) }, 'ImageEditTaskForm'),
  }
}

/** A part with a file. */
const File = Type.Unsafe<unknown>({ type: 'string', format: 'binary' })

/** These members are accepted only by synchronous calls. */
const referredPictures = {
  mask: File,
  'image_urls[]': Type.Array(Type.String(), { description: 'Public URLs.' }),
}

/** A member of a body that is a single part of a form as well. */
function isOnePart([, schema]: readonly [string, TSchema]): boolean {
  const { type, enum: choices } = Object(documentedSchema(schema))
  return choices !== undefined || ['string', 'integer', 'boolean'].includes(type)
}

/** The parts of a form that edits images, of all families; each family reads its own. */
function editForm(edits: readonly TObject[], own: TProperties, named: string): TObject {
  const members = edits.flatMap(({ properties }) => Object.entries(properties))
  const models = edits.flatMap(({ properties }) => Object(properties['model']).enum)
  const examples = edits.flatMap((edit) => {
    const [example] = Object(edit).examples ?? []
    return example ? [{ model: example.model, prompt: example.prompt, image: ['boat.png'] }] : []
  })
  const optional = { ...Object.fromEntries(members.filter(isOnePart)), ...own }
  return Type.Object(
    {
      ...Type.Partial(Type.Object(optional)).properties,
      model: Type.Enum(models),
      prompt: Type.String(),
      image: Type.Optional(Type.Array(File, { description: 'Parts may be named `image[]` too.' })),
    },
    { ...open, named, examples },
  )
}

const Seconds = Type.Integer({ description: 'Unix seconds.' })

const Count = Type.Integer({ minimum: 0 })

export const ImagesSchema = Type.Object(
  {
    created: Type.Integer({ description: 'Unix seconds.' }),
    data: Type.Array(
      Type.Object(
        {
          b64_json: Type.Optional(Type.String()),
          url: Type.Optional(
            Type.String({ description: 'URL of the image, valid for about 24 hours.' }),
          ),
          revised_prompt: Type.Optional(Type.String()),
          error: Type.Optional(
            Type.Object(
              { code: Type.String(), message: Type.String() },
              {
                named: 'ImageError',
                description: 'Why this image is missing, where several were requested.',
              },
            ),
          ),
        },
        { ...open, named: 'GeneratedImage' },
      ),
    ),
    usage: Type.Optional(
      Type.Object(
        { input_tokens: Type.Optional(Count), output_tokens: Count, total_tokens: Count },
        { ...open, named: 'ImageUsage' },
      ),
    ),
  },
  {
    ...open,
    named: 'GeneratedImages',
    description: 'With `stream`: one event for each image, and one for all of them.',
  },
)

const task = {
  id: Type.String({ description: '`image_<ULID>`' }),
  object: Type.Literal('image.generation.task'),
  model: Type.String(),
  created_at: Seconds,
}

export const CreatedImageTaskSchema = Type.Object(
  { ...task, status: Type.Literal('pending') },
  { named: 'CreatedImageTask' },
)

export const ImageTaskParamsSchema = Type.Object({ id: Type.String() })

export const ImageTaskSchema = Type.Object(
  {
    ...task,
    status: Type.Enum(['pending', 'in_progress', 'completed', 'failed']),
    created: Type.Optional(Seconds),
    data: Type.Optional(ImagesSchema.properties.data),
    usage: ImagesSchema.properties.usage,
    completed_at: Type.Optional(Seconds),
    expires_at: Type.Optional(
      Type.Integer({ description: 'Unix seconds after which `data` is empty.' }),
    ),
    error: Type.Optional(
      Type.Object({
        code: Type.String(),
        message: Type.String(),
        type: Type.String(),
        param: Type.Null(),
      }),
    ),
  },
  { ...open, named: 'ImageTask' },
)
