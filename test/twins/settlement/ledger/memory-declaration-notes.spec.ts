import { declarationNotesContract } from './declaration-notes-contract.js';
import { MemoryDeclarationNotes } from './memory-declaration-notes.js';

declarationNotesContract('in memory', (most) => Promise.resolve(new MemoryDeclarationNotes(most)));
