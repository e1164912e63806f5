/** How sound is written down. */
export interface SoundFormat {
  readonly durationMs: number
  readonly sampleRate: number
  readonly channels: number
}

const LOUDNESS = 6_000
const PITCH_HZ = 220

/** Samples of one channel. */
export function sampleCount({ durationMs, sampleRate }: SoundFormat): number {
  return Math.round((durationMs * sampleRate) / 1_000)
}

/** A soft hum, 16 bits a sample, little-endian. */
export function pcmOf(format: SoundFormat): Buffer {
  const count = sampleCount(format)
  const { sampleRate, channels } = format
  const period = Math.round(sampleRate / PITCH_HZ)
  const wave = Buffer.alloc(period * channels * 2)
  for (let at = 0; at < period; at += 1) {
    const value = Math.round(LOUDNESS * Math.sin((2 * Math.PI * at) / period))
    for (let channel = 0; channel < channels; channel += 1)
      wave.writeInt16LE(value, (at * channels + channel) * 2)
  }
  return Buffer.alloc(count * channels * 2, wave)
}

/** The same as a RIFF file. */
export function wavOf(format: SoundFormat): Buffer {
  const { sampleRate, channels } = format
  const data = pcmOf(format)
  const head = Buffer.alloc(44)
  head.write('RIFF', 0, 'latin1')
  head.writeUInt32LE(36 + data.length, 4)
  head.write('WAVEfmt ', 8, 'latin1')
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(channels, 22)
  head.writeUInt32LE(sampleRate, 24)
  head.writeUInt32LE(sampleRate * channels * 2, 28)
  head.writeUInt16LE(channels * 2, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36, 'latin1')
  head.writeUInt32LE(data.length, 40)
  return Buffer.concat([head, data])
}
