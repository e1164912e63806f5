import { Type } from 'typebox'

/**
 * What the upstream of the `/provB` video family sends. Only what is read is described; further
 * members are allowed everywhere. Ids may come as numbers, numbers as strings of digits.
 */

const Id = Type.Union([Type.String({ pattern: '^[\\w-]{1,100}$' }), Type.Integer({ minimum: 1 })])

export const CreateAnswerSchema = Type.Object({ task_id: Id })

export const TaskSchema = Type.Object({
  id: Id,
  status: Type.String({ minLength: 1, maxLength: 100 }),
  model: Type.Optional(Type.Unknown()),
  content: Type.Optional(Type.Unknown()),
  usage: Type.Optional(Type.Unknown()),
  error: Type.Optional(Type.Unknown()),
  created_at: Type.Optional(Type.Unknown()),
  updated_at: Type.Optional(Type.Unknown()),
})

export const ListAnswerSchema = Type.Object({
  tasks: Type.Array(Type.Unknown()),
  total: Type.Optional(Type.Unknown()),
})

/** Echoed settings and actual specs a task may carry, in the wire's own names. */
export const outputFields = ['task_type', 'modality', 'resolution', 'ratio', 'duration'] as const

/** The one result link of a finished task. */
export const urlFields = ['url'] as const
