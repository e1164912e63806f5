import { Type } from 'typebox'

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
