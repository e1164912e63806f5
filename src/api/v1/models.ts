import { Type } from 'typebox'
import type { Principal } from '../../app/access/principal.ts'
import type { Catalog } from '../../domain/catalog/catalog.ts'
import { type ImageKind, imageKinds } from '../../domain/catalog/image-rules.ts'
import { DomainError } from '../../kernel/errors.ts'
import type { Services } from '../kit/services.ts'

/** The creation time of a model is not known: all models have this constant Unix second. */
const CREATED = Date.UTC(2026, 0, 1) / 1_000

const endpointByImageKind: Readonly<Record<ImageKind, string>> = {
  generation: '/v1/images/generations',
  edit: '/v1/images/edits',
}

function endpointsOf(catalog: Catalog, family: string, model: string): readonly string[] {
  const own = catalog.endpointsOf(family, model)
  if (own.length > 0) return own
  if (catalog.videoFamilies.some((rules) => rules.family === family)) return ['/v1/videos']
  const images = catalog.imageFamilies.find(({ name }) => name === family)
  return imageKinds
    .filter((kind) => images?.bodies[kind] !== undefined)
    .map((kind) => endpointByImageKind[kind])
}

/** A model as `/v1/models` shows it. */
interface ModelView {
  readonly id: string
  readonly object: 'model'
  /** Unix seconds. */
  readonly created: number
  readonly owned_by: 'gateway'
  readonly supported_endpoints: readonly string[]
}

/** The models on sale, and the accounts that serve them. */
type Models = Services['models']

/** The models that channels serve and a token may use, by name. */
export function listModels(
  { catalog, channels }: Models,
  { models: allowed }: Principal,
): readonly ModelView[] {
  const families = new Map<string, Set<string>>()
  for (const { family, models } of channels.all)
    for (const id of Object.keys(models))
      if (allowed === undefined || allowed.has(id))
        families.set(id, (families.get(id) ?? new Set<string>()).add(family))
  const listed = [...families].map(([id, served]) => ({
    id,
    object: 'model' as const,
    created: CREATED,
    owned_by: 'gateway' as const,
    supported_endpoints: [...served]
      .toSorted()
      .flatMap((family) => endpointsOf(catalog, family, id)),
  }))
  return listed.toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

/** @throws DomainError `unknown_model`, also for one the token may not use (P8) */
export function findModel(models: Models, principal: Principal, id: string): ModelView {
  const found = listModels(models, principal).find((model) => model.id === id)
  if (found === undefined)
    throw new DomainError('unknown_model', 'The model does not exist or may not be used', {})
  return found
}

/** Shapes of models. */

export const ModelSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('model'),
  created: Type.Integer({ description: 'Unix seconds.' }),
  owned_by: Type.Literal('gateway'),
  supported_endpoints: Type.ReadonlyType(Type.Array(Type.String())),
})

export const ModelListSchema = Type.Object(
  {
    object: Type.Literal('list'),
    data: Type.Array(ModelSchema),
  },
  { named: 'ModelList' },
)

/** Official clients page through other lists and say their version: the list is whole in any case. */
export const ModelsQuerySchema = Type.Object({}, { additionalProperties: true })
export const ModelParamsSchema = Type.Object({ id: Type.String() })
export const LooseModelParamsSchema = Type.Object({ '*': Type.String() })
