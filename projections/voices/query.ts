export { voiceTables } from './audited.ts'
