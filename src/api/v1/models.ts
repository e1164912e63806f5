import { type Static, Type } from 'typebox'
import { refuse } from '../../domain/catalog/checks/fields.ts'

/** Shapes of models. */

const Unknown = Type.Null({ description: 'Not known.' })

export const ModelSchema = Type.Object({
  id: Type.String(),
  display_name: Type.String({ description: 'The id.' }),
  object: Type.Literal('model'),
  created: Type.Integer({ description: 'Unix seconds.' }),
  owned_by: Type.Literal('gateway'),
  type: Type.Literal('model'),
  created_at: Type.String({ description: 'Time of creation, RFC 3339.' }),
  max_tokens: Unknown,
  max_input_tokens: Unknown,
  capabilities: Unknown,
  line: Unknown,
  lifecycle: Type.Literal('active'),
  deprecated_at: Type.Null(),
  supported_endpoints: Type.ReadonlyType(Type.Array(Type.String())),
})

const Id = Type.Union([Type.String(), Type.Null()])

export const ModelListSchema = Type.Object(
  {
    object: Type.Literal('list'),
    data: Type.Array(ModelSchema),
    first_id: Id,
    last_id: Id,
    has_more: Type.Boolean({ description: 'Whether more models are on that side of the page.' }),
  },
  { named: 'ModelList' },
)

const MAX_PAGE = 1_000
const place = (words: string) => Type.Optional(Type.String({ maxLength: 256, description: words }))

/** Official clients say their version, too: what is not listed is ignored. */
export const ModelsQuerySchema = Type.Object({}, { additionalProperties: true })
export const ModelListQuerySchema = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_PAGE,
        description: 'Models of the page; without it they are all there.',
      }),
    ),
    after_id: place('`last_id` of the page before.'),
    before_id: place('`first_id` of the page behind.'),
  },
  { additionalProperties: true },
)

/**
 * A page of what is sorted by id; a model of these ids need not be there any more.
 * @throws DomainError `invalid_request` if it is to be on two sides
 */
export function pageOf<Model extends { readonly id: string }>(
  models: readonly Model[],
  {
    limit = models.length,
    after_id: after,
    before_id: before,
  }: Static<typeof ModelListQuerySchema>,
) {
  if (after !== undefined && before !== undefined)
    refuse('before_id', '`before_id` cannot be combined with `after_id`')
  const left = models.filter(
    ({ id }) => (after === undefined || id > after) && (before === undefined || id < before),
  )
  const data = before === undefined ? left.slice(0, limit) : left.slice(-limit)
  return {
    object: 'list' as const,
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: data.length < left.length,
  }
}

export const ModelParamsSchema = Type.Object({ id: Type.String() })
export const LooseModelParamsSchema = Type.Object({ '*': Type.String() })
