/** A WAV file of so many seconds of silence, long enough to clone a voice from: 8,000 bytes a second. */
export function silentWav(seconds: number): Buffer {
  const bytes = Buffer.alloc(44 + seconds * 8_000)
  bytes.write('RIFF', 0, 'latin1')
  bytes.write('WAVEfmt ', 8, 'latin1')
  bytes.writeUInt32LE(8_000, 28)
  return bytes
}
