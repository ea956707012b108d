// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {OwnedWallet} from "./Wallets.sol";


/// @title Every way in which a factory of wallets can misbehave; each makes its wallet where it says.
contract MoodyFactory {
    /// @notice Makes the wallet. Where it is there already, all gas is gone (EIP-684).
    function honest(address owner, bytes32 salt) public returns (address) {
        return address(new OwnedWallet{salt: salt}(owner));
    }

    /// @notice Makes the wallet, or finds it, as factories in use do.
    function finding(address owner, bytes32 salt) external {
        if (addressOf(owner, salt).code.length == 0) honest(owner, salt);
    }

    /// @notice Says that it has, and has not.
    function idle(address, bytes32) external pure {}

    function reverting(address, bytes32) external pure {
        revert("no wallets today");
    }

    /// @notice Leaves nothing for what comes after it.
    function burning(address owner, bytes32 salt) external {
        honest(owner, salt);
        while (true) {}
    }

    /// @notice Makes the wallet, and then whatever call the payer likes: as a hostile wallet's own code could.
    function reentering(address owner, bytes32 salt, address target, bytes calldata data) external {
        honest(owner, salt);
        (bool ok,) = target.call(data);
        require(ok, "reentering failed");
    }

    /// @notice Answers at great length.
    function talking(address owner, bytes32 salt) external returns (bytes memory) {
        honest(owner, salt);
        return new bytes(60_000);
    }

    function addressOf(address owner, bytes32 salt) public view returns (address) {
        bytes32 code = keccak256(abi.encodePacked(type(OwnedWallet).creationCode, abi.encode(owner)));
        return address(
            uint160(uint256(keccak256(abi.encodePacked(bytes1(0xff), address(this), salt, code))))
        );
    }
}
