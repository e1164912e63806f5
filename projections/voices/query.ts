export { voiceTables } from './projection.ts'
