import type { TaskModel } from '../../../domain/catalog/task-rules.ts'

/** Voices that every tenant may use. */

export const emotions = [
  'happy',
  'sad',
  'angry',
  'fearful',
  'disgusted',
  'surprised',
  'calm',
  'fluent',
  'whisper',
] as const

type Emotion = (typeof emotions)[number]

interface AliasedVoice {
  readonly voiceId: string
  /** Emotion where the request names none. */
  readonly emotion?: Emotion
}

/** Every voice of the official clients of `/v1/audio/speech`. */
const aliases: ReadonlyMap<string, AliasedVoice> = new Map<string, AliasedVoice>([
  ['alloy', { voiceId: 'female-chengshu' }],
  ['ash', { voiceId: 'male-qn-daxuesheng' }],
  ['ballad', { voiceId: 'audiobook_male_1' }],
  ['cedar', { voiceId: 'audiobook_male_2' }],
  ['coral', { voiceId: 'female-tianmei' }],
  ['echo', { voiceId: 'male-qn-qingse' }],
  ['fable', { voiceId: 'male-qn-jingying' }],
  ['marin', { voiceId: 'audiobook_female_2' }],
  ['nova', { voiceId: 'presenter_female', emotion: 'happy' }],
  ['onyx', { voiceId: 'presenter_male', emotion: 'calm' }],
  ['sage', { voiceId: 'female-yujie' }],
  ['shimmer', { voiceId: 'audiobook_female_1', emotion: 'calm' }],
  ['verse', { voiceId: 'male-qn-badao' }],
])

/** The voice of an alias; undefined for any other name. */
export function aliasedVoice(name: string): AliasedVoice | undefined {
  return aliases.get(name)
}

const namedOneByOne: ReadonlySet<string> = new Set(
  `male-qn-qingse male-qn-jingying male-qn-badao male-qn-daxuesheng female-shaonv female-yujie
   female-chengshu female-tianmei presenter_male presenter_female audiobook_male_1 audiobook_male_2
   audiobook_female_1 audiobook_female_2 male-qn-qingse-jingpin male-qn-jingying-jingpin
   male-qn-badao-jingpin male-qn-daxuesheng-jingpin female-shaonv-jingpin female-yujie-jingpin
   female-chengshu-jingpin female-tianmei-jingpin clever_boy cute_boy lovely_girl cartoon_pig
   bingjiao_didi junlang_nanyou chunzhen_xuedi lengdan_xiongzhang badao_shaoye tianxin_xiaoling
   qiaopi_mengmei wumei_yujie diadia_xuemei danya_xuejie Santa_Claus Grinch Rudolph Arnold
   Charming_Santa Charming_Lady Sweet_Girl Cute_Elf Attractive_Girl Serene_Woman`.split(/\s+/),
)

/** Upstream names its further voices after their language: `English_Graceful_Lady`. */
const namedByLanguage =
  /^(?:Chinese \(Mandarin\)|Cantonese|English|Japanese|Korean|Spanish|Portuguese|French|Indonesian|German|Russian|Italian|Dutch|Vietnamese|Arabic|Turkish|Ukrainian|Thai|Polish|Romanian|greek|czech|finnish|hindi)_[A-Za-z][\w ()&-]{0,80}$/

/**
 * Whether upstream has, or may have, a built-in voice of this name: no tenant can clone one under
 * it.
 */
export function isBuiltInVoice(name: string): boolean {
  return namedOneByOne.has(name) || namedByLanguage.test(name)
}

/** The models that speak: one row per external name. */
export const speechModels: readonly TaskModel[] = [
  { name: 'speech-2.8-hd', aliases: [] },
  { name: 'speech-2.8-turbo', aliases: [] },
  { name: 'speech-2.6-hd', aliases: [] },
]

/** A clone of a voice, which the same accounts make and sell by the piece. */
export const VOICE_CLONE = 'voice-clone'

/** Every name a channel of the family may offer. */
export const offeredModels: readonly string[] = [
  ...speechModels.map(({ name }) => name),
  VOICE_CLONE,
]

/** Voices by external name. */
export function speechModel(name: string): TaskModel | undefined {
  return speechModels.find((model) => model.name === name)
}
