import { Type } from 'typebox'
import type { Principal } from '../../app/access/principal.ts'
import { DomainError } from '../../kernel/errors.ts'
import { listModels, type Models, type ModelView } from '../kit/models.ts'

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
