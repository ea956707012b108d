import { type CanActivate, Injectable } from '@nestjs/common';
import { Statements } from './statements.js';

/** Refuses statements where none are accepted, before their body is read. */
@Injectable()
export class StatementsGuard implements CanActivate {
  constructor(private readonly statements: Statements) {}

  canActivate(): boolean {
    this.statements.needs();
    return true;
  }
}
