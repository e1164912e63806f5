import type { TextUseCases } from '../../../app/calls/text/types.ts'
import type { Principal } from '../../../app/access/principal.ts'
import type { Catalog } from '../../../domain/families/catalog.ts'
import type { ImageKind } from '../../../domain/families/image-rules.ts'
import { DomainError } from '../../../kernel/errors.ts'

type Listed = Awaited<ReturnType<TextUseCases['listModels']>>[number]

const endpointByImageKind: Readonly<Record<ImageKind, string>> = {
  generation: '/v1/images/generations',
  edit: '/v1/images/edits',
}

function endpointsOf(catalog: Catalog, family: string, model: string): readonly string[] {
  const own = catalog.endpointsOf(family, model)
  if (own.length > 0) return own
  if (catalog.videoFamilies.some((rules) => rules.family === family)) return ['/v1/videos']
  const images = catalog.imageFamilies.find(({ name }) => name === family)
  return (images?.kinds ?? []).map((kind) => endpointByImageKind[kind])
}

/** A model as `/v1/models` shows it. */
export interface ModelView {
  readonly id: string
  readonly object: 'model'
  /** Unix seconds. */
  readonly created: number
  readonly owned_by: 'gateway'
  readonly supported_endpoints: readonly string[]
}

function toModel(catalog: Catalog, listed: Listed): ModelView {
  return {
    id: listed.id,
    object: 'model',
    created: Math.floor(listed.createdAtMs / 1_000),
    owned_by: 'gateway',
    supported_endpoints: listed.families.flatMap((family) =>
      endpointsOf(catalog, family, listed.id),
    ),
  }
}

interface ModelDeps {
  readonly catalog: Catalog
  readonly texts: TextUseCases
}

/** The models a token may use, by name. */
export async function listModels(
  { catalog, texts }: ModelDeps,
  principal: Principal,
): Promise<readonly ModelView[]> {
  const listed = await texts.listModels(principal)
  return listed.map((one) => toModel(catalog, one)).sort((a, b) => (a.id < b.id ? -1 : 1))
}

/** @throws DomainError `unknown_model`, also for one the token may not use (P8) */
export async function findModel(
  { catalog, texts }: ModelDeps,
  principal: Principal,
  id: string,
): Promise<ModelView> {
  const listed = await texts.listModels(principal)
  const found = listed.find((model) => model.id === id)
  if (found === undefined)
    throw new DomainError('unknown_model', 'The model does not exist or may not be used', {})
  return toModel(catalog, found)
}
