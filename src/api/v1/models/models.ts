import type { TextUseCases } from '../../../app/calls/text/types.ts'
import type { Principal } from '../../../app/access/principal.ts'
import type { ImageKind } from '../../../domain/families/image-rules.ts'
import { imageFamilies } from '../../../domain/families/images.ts'
import { VOICE_CLONE } from '../../../domain/families/speech/models.ts'
import { SPEECH } from '../../../domain/families/speech/rules.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { videoFamilies } from '../videos/families.ts'

type Listed = Awaited<ReturnType<TextUseCases['listModels']>>[number]

const endpointByFamily: Readonly<Record<string, string>> = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  native: '/v1beta/models/{model}:generateContent',
}
const endpointByImageKind: Readonly<Record<ImageKind, string>> = {
  generation: '/v1/images/generations',
  edit: '/v1/images/edits',
}

const SPEECH_ENDPOINTS = ['/provB/v1/t2a_v2', '/provB/v1/t2a_async_v2']

function endpointsOf(family: string, model: string): readonly string[] {
  const endpoint = endpointByFamily[family]
  if (endpoint !== undefined) return [endpoint]
  if (family === SPEECH) return model === VOICE_CLONE ? ['/provB/v1/voice_clone'] : SPEECH_ENDPOINTS
  if (videoFamilies.includes(family)) return ['/v1/videos']
  const images = imageFamilies.find(({ name }) => name === family)
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

function toModel(listed: Listed): ModelView {
  return {
    id: listed.id,
    object: 'model',
    created: Math.floor(listed.createdAtMs / 1_000),
    owned_by: 'gateway',
    supported_endpoints: listed.families.flatMap((family) => endpointsOf(family, listed.id)),
  }
}

/** The models a token may use, by name. */
export async function listModels(
  texts: TextUseCases,
  principal: Principal,
): Promise<readonly ModelView[]> {
  const listed = await texts.listModels(principal)
  return listed.map(toModel).sort((a, b) => (a.id < b.id ? -1 : 1))
}

/** @throws DomainError `unknown_model`, also for one the token may not use (P8) */
export async function findModel(
  texts: TextUseCases,
  principal: Principal,
  id: string,
): Promise<ModelView> {
  const listed = await texts.listModels(principal)
  const found = listed.find((model) => model.id === id)
  if (found === undefined)
    throw new DomainError('unknown_model', 'The model does not exist or may not be used', {})
  return toModel(found)
}
