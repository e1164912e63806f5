/** How long sound is by its own bytes, read frame by frame; every byte must belong to one. */

const MP3_KILOBITS = {
  high: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  low: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
}
const MP3_RATES: Readonly<Record<number, readonly number[]>> = {
  3: [44_100, 48_000, 32_000],
  2: [22_050, 24_000, 16_000],
  0: [11_025, 12_000, 8_000],
}

function mp3Ms(bytes: Buffer): number {
  if (bytes.toString('latin1', 0, 3) !== 'ID3') throw new Error('no ID3')
  let at = 10
  let ms = 0
  while (at < bytes.length) {
    const [sync = 0, head = 0, rates = 0] = bytes.subarray(at, at + 4)
    if (sync !== 0xff || (head & 0xe6) !== 0xe2) throw new Error(`no frame at ${at}`)
    const version = (head >> 3) & 3
    const high = version === 3
    const kilobits = (high ? MP3_KILOBITS.high : MP3_KILOBITS.low)[rates >> 4] ?? 0
    const rate = MP3_RATES[version]?.[(rates >> 2) & 3] ?? 0
    const samples = high ? 1_152 : 576
    at += Math.floor((samples / 8) * ((kilobits * 1_000) / rate))
    ms += (samples / rate) * 1_000
  }
  if (at !== bytes.length) throw new Error('the last frame is not whole')
  return ms
}

function wavMs(bytes: Buffer): number {
  const dataBytes = bytes.readUInt32LE(40)
  const isWhole =
    bytes.toString('latin1', 0, 4) === 'RIFF' &&
    bytes.toString('latin1', 8, 16) === 'WAVEfmt ' &&
    bytes.readUInt32LE(4) === bytes.length - 8 &&
    dataBytes === bytes.length - 44
  if (!isWhole) throw new Error('no WAV')
  return (dataBytes / bytes.readUInt32LE(28)) * 1_000
}

function flacMs(bytes: Buffer): number {
  if (bytes.toString('latin1', 0, 4) !== 'fLaC') throw new Error('no FLAC')
  const packed = bytes.readBigUInt64BE(18)
  const rate = Number(packed >> 44n)
  const total = Number(packed & 0xf_ffff_ffffn)
  let samples = 0
  const frames = bytes.subarray(42)
  for (let at = frames.indexOf('fff870', 0, 'hex'); at !== -1;) {
    // Beyond the numbers of one byte the size stands further on.
    const numberBytes = (frames[at + 4] ?? 0) < 0x80 ? 1 : (frames[at + 4] ?? 0) < 0xe0 ? 2 : 3
    samples += frames.readUInt16BE(at + 4 + numberBytes) + 1
    at = frames.indexOf('fff870', at + 8, 'hex')
  }
  if (samples !== total) throw new Error(`${samples} of ${total} samples`)
  return (total / rate) * 1_000
}

/** Milliseconds of a file of this format. @throws when it is none */
export function durationMs(format: string, bytes: Buffer): number {
  if (format === 'mp3') return mp3Ms(bytes)
  return format === 'wav' ? wavMs(bytes) : flacMs(bytes)
}
