import { Type } from 'typebox'

/**
 * What the upstream of the `/provA` video family sends. Only what is read is described; further
 * members are allowed everywhere. Numbers may come as strings of digits (lossless parsing).
 */

export const CreateAnswerSchema = Type.Object({ id: Type.String({ minLength: 1, maxLength: 200 }) })

export const TaskSchema = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 200 }),
  status: Type.String({ minLength: 1, maxLength: 100 }),
  model: Type.Optional(Type.Unknown()),
  safety_identifier: Type.Optional(Type.Unknown()),
  content: Type.Optional(Type.Unknown()),
  usage: Type.Optional(Type.Unknown()),
  error: Type.Optional(Type.Unknown()),
  created_at: Type.Optional(Type.Unknown()),
  updated_at: Type.Optional(Type.Unknown()),
})

export const ListAnswerSchema = Type.Object({
  items: Type.Array(Type.Unknown()),
  total: Type.Optional(Type.Unknown()),
})

/** Echoed settings and actual specs a task may carry, in the wire's own names. */
export const outputFields = [
  'resolution',
  'ratio',
  'duration',
  'frames',
  'framespersecond',
  'seed',
  'generate_audio',
  'watermark',
  'output_format',
  'draft',
  'service_tier',
  'execution_expires_after',
  'priority',
] as const

/** Result links of a finished task. */
export const urlFields = ['video_url', 'last_frame_url'] as const
