import type { TaskModel } from '../../../domain/catalog/task-rules.ts'

/** The `/provC` video models: one row per external name. They belong to no region. */

/** The ways of creating a video, as the wire calls them. */
export const videoCModes = [
  'text2video',
  'img2video',
  'start-end2video',
  'reference2video',
] as const
export type VideoCMode = (typeof videoCModes)[number]

export type VideoCResolution = '540p' | '720p' | '1080p'
export const videoCResolutions: readonly VideoCResolution[] = ['540p', '720p', '1080p']

export interface VideoCModel extends TaskModel {
  readonly modes: readonly VideoCMode[]
  /** Seconds it makes, rising. */
  readonly durationsS: readonly number[]
  /** Upstream's default. */
  readonly defaultDurationS: number
  readonly defaultResolution: VideoCResolution
  /** Whether it makes sound together with the picture. */
  readonly hasAudio: boolean
}

type Series = Omit<VideoCModel, 'name' | 'aliases' | 'modes'>

function upTo(longestS: number): readonly number[] {
  return Array.from({ length: longestS }, (_, index) => index + 1)
}

const q3: Series = {
  durationsS: upTo(16),
  defaultDurationS: 5,
  defaultResolution: '720p',
  hasAudio: true,
}
const q2: Series = { ...q3, durationsS: upTo(8), hasAudio: false }
/** The provider documents no range for this series: it has a single length. */
const q1: Series = {
  durationsS: [5],
  defaultDurationS: 5,
  defaultResolution: '1080p',
  hasAudio: false,
}
const older: Series = {
  durationsS: [4, 8],
  defaultDurationS: 4,
  defaultResolution: '720p',
  hasAudio: false,
}

function model(name: string, series: Series, modes: readonly VideoCMode[]): VideoCModel {
  return { name, aliases: [], ...series, modes }
}

const pictures = ['img2video', 'start-end2video'] as const

/** All ten. Rows stay for ever: settling an old task needs its row. */
export const videoCModels: readonly VideoCModel[] = [
  model('clipq3-turbo', q3, ['text2video', ...pictures]),
  model('clipq3-pro', q3, ['text2video', ...pictures]),
  model('clipq2', q2, ['text2video', 'reference2video']),
  model('clipq2-pro-fast', q2, pictures),
  model('clipq2-pro', q2, pictures),
  model('clipq2-turbo', q2, pictures),
  model('clipq1', q1, videoCModes),
  model('clipq1-classic', q1, pictures),
  model('clip2.0', older, videoCModes),
  model('clip1.5', older, ['text2video', 'img2video', 'reference2video']),
]

const byName: ReadonlyMap<string, VideoCModel> = new Map(videoCModels.map((one) => [one.name, one]))

/** The model of an external name. */
export function resolveVideoCModel(name: string): VideoCModel | undefined {
  return byName.get(name)
}
